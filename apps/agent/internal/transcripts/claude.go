package transcripts

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Claude Code writes one JSON object a line, in ~/.claude/projects/<folder>/<session>.jsonl. A
// line is a record of a tree: uuid and parentUuid. One reply of the model is several lines, one a
// content block, that share message.id and repeat a growing usage; results of tools may stand
// between them. Subagents have lines with isSidechain: in a file of their own with an agentId
// (agent-*.jsonl; since 2.1 in <session>/subagents/), and before that among the lines of the
// session that called them, each chain of parentUuid being one subagent. A fork has forkedFrom on
// its copies of lines, and older versions copied lines to resume a session: both keep uuids.
//
// The same grammar is what `claude -p --output-format stream-json` prints, and, as one JSON
// array, what the Claude Code action leaves behind.
type claude struct {
	Fallback string       // session of records that name none
	Main     string       // the last session that was no subagent's
	Rank     titleRank    // where Main's title is from
	Several  bool         // there was another Main before
	Loose    []looseTitle // titles for conversations that are not in this file, as far as seen
	Chains   *recent      // uuid to the uuid that its sidechain began with

	source Source
	meta   *claudeMeta
}

// titleRank orders the places a title can be from.
type titleRank int

const (
	noTitle titleRank = iota
	looseSummary
	ownSummary
	aiTitle
	customTitle
)

// looseTitle is a summary line, which names a message that ends the conversation it sums up. Some
// versions wrote them into whatever file was new.
type looseTitle struct{ Leaf, Title string }

const maxLoose = 16

func newClaude(src Source) *claude { return &claude{source: src, Chains: newRecent(4096)} }

type claudeLine struct {
	Type             text                     `json:"type"`
	Subtype          text                     `json:"subtype"`
	UUID             text                     `json:"uuid"`
	ParentUUID       text                     `json:"parentUuid"`
	SessionID        text                     `json:"sessionId"`
	SessionIDInSDK   text                     `json:"session_id"`
	AgentID          text                     `json:"agentId"`
	AttributionAgent text                     `json:"attributionAgent"`
	Cwd              text                     `json:"cwd"`
	GitBranch        text                     `json:"gitBranch"`
	Version          text                     `json:"version"`
	Timestamp        when                     `json:"timestamp"`
	IsSidechain      flag                     `json:"isSidechain"`
	IsMeta           flag                     `json:"isMeta"`
	IsCompactSummary flag                     `json:"isCompactSummary"`
	ForkedFrom       object[claudeFork]       `json:"forkedFrom"`
	Message          object[claudeMessage]    `json:"message"`
	Content          text                     `json:"content"`
	Prompt           textOr[claudeBlock]      `json:"prompt"`
	Attachment       object[claudeAttachment] `json:"attachment"`
	Model            text                     `json:"model"`
	Summary          text                     `json:"summary"`
	LeafUUID         text                     `json:"leafUuid"`
	CustomTitle      text                     `json:"customTitle"`
	AITitle          text                     `json:"aiTitle"`
	AgentName        text                     `json:"agentName"`
}

type claudeFork struct {
	SessionID   text `json:"sessionId"`
	MessageUUID text `json:"messageUuid"`
}

type claudeMessage struct {
	ID      text                `json:"id"`
	Model   text                `json:"model"`
	Content textOr[claudeBlock] `json:"content"`
	Usage   object[claudeUsage] `json:"usage"`
}

type claudeUsage struct {
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
}

// claudeMeta is the file beside a subagent's.
type claudeMeta struct {
	AgentType   text `json:"agentType"`
	Description text `json:"description"`
}

// claudeQuiet are the types of record that hold nothing anyone said.
var claudeQuiet = []string{"agent-color", "agent-setting", "atis-latch", "attribution-snapshot", "bridge-session",
	"content-replacement", "control_cancel_request", "control_request", "control_response", "file-history-snapshot",
	"frame-link", "keep_alive", "last-prompt", "mode", "permission-mode", "pr-link", "progress", "queue-operation",
	"rate_limit_event", "relocated", "result", "speculation-accept", "started", "stream_event", "tag", "task-summary",
	"tool_progress", "tool_use_summary", "worktree-state"}

func (g *claude) take(a *assembler, r record) (bool, error) {
	var l claudeLine
	if err := decode(r.raw, &l); err != nil {
		return false, err
	}
	if g.Fallback == "" {
		g.Fallback = fallbackSession(g.source, r.raw)
	}
	if l.SessionID == "" {
		l.SessionID = l.SessionIDInSDK
	}
	if l.SessionID == "" {
		l.SessionID = text(cmp.Or(g.Main, g.Fallback)) // a stream names it on some of its records
	}
	switch l.Type {
	case "user":
		g.user(a, r, &l)
	case "assistant":
		g.assistant(a, r, &l)
	case "system":
		g.system(a, r, &l)
	case "attachment":
		g.attachment(a, r, &l)
	case "queued_command":
		l.Attachment.V = claudeAttachment{Type: l.Type, Prompt: l.Prompt}
		g.attachment(a, r, &l)
	case "summary":
		g.summary(a, &l)
	case "custom-title":
		g.title(a, string(l.SessionID), customTitle, string(l.CustomTitle))
	case "ai-title":
		g.title(a, string(l.SessionID), aiTitle, string(l.AITitle))
	case "agent-name":
		set(&a.session(string(l.SessionID)).Agent, l.AgentName)
	default:
		if _, quiet := slices.BinarySearch(claudeQuiet, string(l.Type)); !quiet {
			a.unknown(string(l.Type))
			return false, nil
		}
	}
	a.pass(string(l.UUID), string(l.ParentUUID))
	return true, nil
}

// fallbackSession names the session of a file whose records do not: by the file's name when that
// is an id, else by how the file begins, which stays when it is moved and when it grows.
func fallbackSession(src Source, first []byte) string {
	name := filepath.Base(src.Path)
	name, _, _ = strings.Cut(name, ".")
	if isUUID(name) {
		return name
	}
	return "file-" + digest(string(first))
}

// session is the session that a line belongs to, brought up to date.
func (g *claude) session(a *assembler, l *claudeLine) *Session {
	id, kind, parent := string(l.SessionID), Main, ""
	switch {
	case bool(l.IsSidechain) && l.AgentID != "":
		kind = Subagent
		id, parent = g.subagent(id, string(l.AgentID))
	case bool(l.IsSidechain):
		kind, parent = Sidechain, id
		id += "/sidechain-" + g.chain(l)
	case l.ForkedFrom.V.SessionID != "" && l.ForkedFrom.V.SessionID != l.SessionID:
		kind, parent = Fork, string(l.ForkedFrom.V.SessionID)
	}
	if kind == Main || kind == Fork {
		parent = g.enter(a, l, id, parent)
		if parent != "" {
			kind = Fork
		}
	}
	s := a.session(id)
	if s.ParentID == "" && parent != "" {
		s.Kind, s.ParentID = kind, parent
	} else if kind == Subagent {
		s.Kind = kind
	}
	if kind == Subagent {
		g.describe(s, l)
	}
	s.begin(l.Timestamp.Time)
	setFirst(&s.Cwd, l.Cwd)
	set(&s.GitBranch, l.GitBranch)
	set(&s.Version, l.Version)
	g.claim(a, s, l)
	return s
}

// subagent gives the id of a subagent's session and that of its parent. Where the records do not
// name the parent, the folder does.
func (g *claude) subagent(session, agent string) (id, parent string) {
	parent = session
	if session == "agent-"+agent || session == agent {
		parent = ""
		if dir := filepath.Dir(g.source.Path); filepath.Base(dir) == "subagents" {
			parent = validText(filepath.Base(filepath.Dir(dir)))
		}
	}
	if parent == "" {
		return session, ""
	}
	return parent + "/agent-" + agent, parent
}

// describe takes what the file beside a subagent's says of it.
func (g *claude) describe(s *Session, l *claudeLine) {
	if g.meta == nil {
		g.meta = &claudeMeta{}
		path := strings.TrimSuffix(g.source.Path, ".jsonl") + ".meta.json"
		const most = 64 << 10
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() <= most {
			if raw, err := os.ReadFile(path); err == nil {
				_ = decode(raw, g.meta) // what cannot be read says nothing
			}
		}
	}
	set(&s.Agent, g.meta.AgentType)
	set(&s.Agent, l.AttributionAgent)
	setFirst(&s.Title, g.meta.Description)
}

// chain is the uuid that the sidechain of a line began with.
func (g *claude) chain(l *claudeLine) string {
	root, ok := g.Chains.get(string(l.ParentUUID))
	if own, seen := g.Chains.get(string(l.UUID)); seen {
		root, ok = own, true
	}
	if !ok {
		root = string(l.UUID)
	}
	g.Chains.put(string(l.UUID), root)
	return root
}

// enter notes which session the file has come to. A file that goes on with another session, from
// a message of the one before, has resumed it.
func (g *claude) enter(a *assembler, l *claudeLine, id, parent string) string {
	if g.Main == id {
		return parent
	}
	before := g.Main
	g.Main, g.Rank, g.Several = id, noTitle, before != ""
	if _, here := a.parents.get(string(l.ParentUUID)); here && parent == "" && before != "" && l.ParentUUID != "" {
		if a.sessions[id] == nil {
			parent = before
		}
	}
	return parent
}

// claim gives a session the summary that names one of its messages.
func (g *claude) claim(a *assembler, s *Session, l *claudeLine) {
	i := slices.IndexFunc(g.Loose, func(t looseTitle) bool { return t.Leaf == string(l.UUID) })
	if i >= 0 {
		title := g.Loose[i].Title
		g.Loose = slices.Delete(g.Loose, i, i+1)
		g.title(a, s.ID, ownSummary, title)
	}
	g.settle(a)
}

func (g *claude) summary(a *assembler, l *claudeLine) {
	if _, here := a.parents.get(string(l.LeafUUID)); here && g.Main != "" {
		g.title(a, g.Main, ownSummary, string(l.Summary))
		return
	}
	if len(g.Loose) < maxLoose && l.Summary != "" {
		g.Loose = append(g.Loose, looseTitle{Leaf: string(l.LeafUUID), Title: string(l.Summary)})
	}
	g.settle(a)
}

// settle gives the session a summary that names no message of this file, as long as it is the
// only one: a resumed session begins with the summary of what it resumes.
func (g *claude) settle(a *assembler) {
	if g.Main == "" || g.Several || g.Rank > looseSummary {
		return
	}
	switch {
	case len(g.Loose) == 1 && g.Rank == noTitle:
		g.title(a, g.Main, looseSummary, g.Loose[0].Title)
	case len(g.Loose) != 1 && g.Rank == looseSummary:
		a.session(g.Main).Title, g.Rank = "", noTitle
	}
}

// title sets the title of a session, unless it has one from a better place.
func (g *claude) title(a *assembler, session string, rank titleRank, title string) {
	if title == "" {
		return
	}
	if g.Main == "" {
		g.Main = session
	}
	if session == g.Main {
		if rank < g.Rank {
			return
		}
		g.Rank = rank
	}
	a.session(session).Title = title
}

// lineID names a line: by its uuid when that is one, else also by what it holds, since "u1" is in
// many files.
func (g *claude) lineID(r record, l *claudeLine) string {
	switch id := string(l.UUID); {
	case isGlobalID(string(l.ForkedFrom.V.MessageUUID)):
		return string(l.ForkedFrom.V.MessageUUID)
	case isGlobalID(id):
		return id
	case id != "":
		return id + "~" + digest(string(r.raw))
	case l.Timestamp.IsZero():
		return digest(string(l.SessionID), strconv.FormatInt(r.offset, 10), string(r.raw))
	default:
		return digest(string(l.SessionID), string(r.raw))
	}
}

// repeated tells whether the file had this very line before, and notes which message it is of.
func (g *claude) repeated(a *assembler, l *claudeLine, line, message string) bool {
	if _, seen := a.parents.get(line); seen && !a.replaying {
		return true
	}
	a.parents.put(line, message)
	a.parents.put(string(l.UUID), message)
	return false
}

// looseText finds the text in a value whose shape is not fixed: a string, an object that has one
// in a usual place, a list of such.
func looseText(raw jsontext.Value, depth int) string {
	switch raw.Kind() {
	case '"':
		var s text
		_ = decode(raw, &s)
		return string(s)
	case '[':
		var parts []jsontext.Value
		if depth == 0 || decode(raw, &parts) != nil {
			return ""
		}
		var texts []string
		for _, p := range parts {
			if s := looseText(p, depth-1); s != "" {
				texts = append(texts, s)
			}
		}
		return strings.Join(texts, "\n")
	case '{':
		var o struct {
			Text    jsontext.Value `json:"text"`
			Content jsontext.Value `json:"content"`
			File    jsontext.Value `json:"file"`
			Error   jsontext.Value `json:"blockingError"`
		}
		if depth == 0 || decode(raw, &o) != nil {
			return ""
		}
		for _, v := range []jsontext.Value{o.Text, o.Content, o.File, o.Error} {
			if s := looseText(v, depth-1); s != "" {
				return s
			}
		}
	}
	return ""
}
