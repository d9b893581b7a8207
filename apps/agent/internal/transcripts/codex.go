package transcripts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Codex writes rollouts, ~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl, later .zst of them. Three
// generations: items of the Responses API one a line, behind a header without a type; the same
// in envelopes {timestamp, type, payload}, beside events for the user interface; and the TypeScript
// program's single document {session, items}.
//
// In the envelopes what was said stands twice, as a response_item and as an event_msg, in either
// order; some versions wrote one of the two alone. The second of a pair is dropped. The first
// session_meta is the session's own: a fork has its ancestor's behind it.
//
// The items of one answer (reasoning, text, calls) follow each other up to the next result, token
// count or word of the user: they are one message.
type codex struct {
	Session  string // id
	Fork     bool
	Model    string
	Unpaired []heard // texts whose twin has not come
}

// heard is a text that stood in an event or in an item.
type heard struct {
	Text  string // digest of role and text
	Event bool
}

// maxUnpaired is how far apart the twins of a text may be, in unpaired texts.
const maxUnpaired = 32

type codexLine struct {
	Timestamp  when           `json:"timestamp"`
	Type       text           `json:"type"`
	Payload    jsontext.Value `json:"payload"`
	ID         text           `json:"id"`
	RecordType text           `json:"record_type"`
}

// codexMeta begins a session. It is the whole first line of the first generation.
type codexMeta struct {
	ID         text                `json:"id"`
	SessionID  text                `json:"session_id"`
	ForkedFrom text                `json:"forked_from_id"`
	Parent     text                `json:"parent_thread_id"`
	Timestamp  when                `json:"timestamp"`
	Cwd        text                `json:"cwd"`
	CLIVersion text                `json:"cli_version"`
	Source     object[codexSource] `json:"source"`
	Nickname   text                `json:"agent_nickname"`
	AgentRole  text                `json:"agent_role"`
	Git        object[codexGit]    `json:"git"`
}

type codexGit struct {
	Branch text `json:"branch"`
}

type codexSource struct {
	Subagent jsontext.Value `json:"subagent"`
}

// codexSpawn is a source of the kind that says who spawned the session.
type codexSpawn struct {
	Spawn object[struct {
		Parent   text `json:"parent_thread_id"`
		Nickname text `json:"agent_nickname"`
		Role     text `json:"agent_role"`
	}] `json:"thread_spawn"`
}

func (g *codex) take(a *assembler, r record) (bool, error) {
	var l codexLine
	if err := decode(r.raw, &l); err != nil {
		return false, err
	}
	if len(l.Payload) == 0 {
		return g.bare(a, r, &l)
	}
	known, err := g.envelope(a, r, &l)
	if err == nil && !known {
		a.unknown(string(l.Type))
	}
	return known, err
}

// envelope takes {timestamp, type, payload}.
func (g *codex) envelope(a *assembler, r record, l *codexLine) (bool, error) {
	switch l.Type {
	case "session_meta":
		var m codexMeta
		if err := decode(l.Payload, &m); err != nil {
			return false, err
		}
		g.meta(a, &m, l.Timestamp)
	case "turn_context":
		var c struct {
			Model text `json:"model"`
			Cwd   text `json:"cwd"`
		}
		if err := decode(l.Payload, &c); err != nil {
			return false, err
		}
		s := g.session(a, r, l.Timestamp)
		set(&g.Model, c.Model)
		set(&s.Model, c.Model)
		setFirst(&s.Cwd, c.Cwd)
	case "response_item":
		return g.item(a, r, l.Payload, l.Timestamp)
	case "event_msg":
		return g.event(a, r, l.Payload, l.Timestamp)
	case "compacted":
		var c struct {
			Message text `json:"message"`
		}
		if err := decode(l.Payload, &c); err != nil {
			return false, err
		}
		g.compaction(a, r, l.Payload, l.Timestamp, string(c.Message))
	case "inter_agent_communication":
		return g.item(a, r, l.Payload, l.Timestamp)
	case "world_state", "inter_agent_communication_metadata":
	default:
		return false, nil
	}
	return true, nil
}

// bare takes a line of the first generation: the header, or an item without an envelope.
func (g *codex) bare(a *assembler, r record, l *codexLine) (bool, error) {
	if l.RecordType != "" {
		return true, nil // state
	}
	if l.Type == "" && l.ID != "" {
		var m codexMeta
		if err := decode(r.raw, &m); err != nil {
			return false, err
		}
		g.meta(a, &m, l.Timestamp)
		return true, nil
	}
	known, err := g.item(a, r, r.raw, l.Timestamp)
	if err == nil && !known {
		a.unknown(string(l.Type))
	}
	return known, err
}

func (g *codex) meta(a *assembler, m *codexMeta, at when) {
	if g.Session != "" {
		return // an ancestor's
	}
	g.Session = string(m.ID)
	if g.Session == "" {
		g.Session = string(m.SessionID)
	}
	if g.Session == "" {
		return
	}
	s := a.session(g.Session)
	s.begin(at.Time)
	s.begin(m.Timestamp.Time)
	set(&s.Cwd, m.Cwd)
	set(&s.Version, m.CLIVersion)
	set(&s.GitBranch, m.Git.V.Branch)
	var spawn codexSpawn
	if m.Source.V.Subagent.Kind() == '{' {
		_ = decode(m.Source.V.Subagent, &spawn)
	}
	agent := spawn.Spawn.V
	for _, name := range []text{m.AgentRole, agent.Role, m.Nickname, agent.Nickname} {
		setFirst(&s.Agent, name)
	}
	switch {
	case len(m.Source.V.Subagent) > 0 && m.Source.V.Subagent.Kind() != 'n':
		s.Kind = Subagent
		for _, parent := range []text{m.Parent, agent.Parent, m.ForkedFrom} {
			setFirst(&s.ParentID, parent)
		}
	case m.ForkedFrom != "":
		s.Kind, s.ParentID = Fork, string(m.ForkedFrom)
	}
}

// session is the file's, even when its first line was lost.
func (g *codex) session(a *assembler, r record, at when) *Session {
	if g.Session == "" {
		g.Session = codexSessionOf(a.source, r.raw)
	}
	s := a.session(g.Session)
	s.begin(at.Time)
	return s
}

// codexSessionOf names the session of a file without a header: rollouts carry it in their name.
func codexSessionOf(src Source, first []byte) string {
	name, _, _ := strings.Cut(src.Path[strings.LastIndexAny(src.Path, `/\`)+1:], ".")
	const uuid = 36
	if len(name) > uuid && isUUID(name[len(name)-uuid:]) {
		return name[len(name)-uuid:]
	}
	return fallbackSession(src, first)
}

// itemID names an item. Those that the service gave an id, or that belong to a call, keep it in a
// fork's copy. Others are named by time and content; where no times are kept, by their place.
func (g *codex) itemID(r record, payload jsontext.Value, at when, typ, id, call string) string {
	switch {
	case isGlobalID(id):
		return typ + ":" + id
	case isGlobalID(call):
		return typ + ":" + call
	case at.IsZero():
		return digest(g.Session, strconv.FormatInt(r.offset, 10), string(payload))
	default:
		return digest(at.Format("2006-01-02T15:04:05.000000000"), string(payload))
	}
}

func (g *codex) compaction(a *assembler, r record, payload jsontext.Value, at when, summary string) {
	s := g.session(a, r, at)
	a.close(s.ID, Assistant)
	a.add(Message{ID: g.itemID(r, payload, at, "compacted", "", ""), SessionID: s.ID, Role: System,
		At: at.Time, Compaction: true, Blocks: injected(summary)})
}

// twin tells whether a text was heard from the other side before, and then pairs them off.
func (g *codex) twin(role Role, s string, event bool) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return false
	}
	key := digest(string(role), s)
	i := slices.Index(g.Unpaired, heard{key, !event})
	if i >= 0 {
		g.Unpaired = slices.Delete(g.Unpaired, i, i+1)
		return true
	}
	if len(g.Unpaired) >= maxUnpaired {
		g.Unpaired = slices.Delete(g.Unpaired, 0, 1)
	}
	g.Unpaired = append(g.Unpaired, heard{key, event})
	return false
}

// codexQuiet are the events that say nothing which an item does not say, or nothing at all.
var codexQuiet = []string{"agent_reasoning_section_break", "apply_patch_approval_request", "background_event",
	"codex/event/raw_item", "collab_agent_interaction_end", "collab_agent_spawn_end", "collab_close_end",
	"collab_resume_end", "collab_waiting_end", "context_compacted", "deprecation_notice", "dynamic_tool_call_request",
	"dynamic_tool_call_response", "elicitation_request", "entered_review_mode", "error", "exec_approval_request",
	"exec_command_begin", "exec_command_end", "exited_review_mode", "guardian_assessment", "guardian_warning",
	"hook_completed", "hook_started", "image_generation_end", "item_completed", "item_started", "mcp_startup_complete",
	"mcp_tool_call_begin", "mcp_tool_call_end", "model_reroute", "model_verification", "patch_apply_begin",
	"patch_apply_end", "plan_update", "raw_response_item", "request_permissions", "request_user_input", "safety_buffering",
	"session_configured", "shutdown_complete", "stream_error", "sub_agent_activity", "task_complete", "task_started",
	"terminal_interaction", "thread_goal_updated", "thread_rolled_back", "thread_settings_applied", "turn.completed",
	"turn_aborted", "turn_complete", "turn_diff", "turn_moderation_metadata", "turn_started", "undo_completed",
	"undo_started", "view_image_tool_call", "warning", "web_search_begin", "web_search_end"}
