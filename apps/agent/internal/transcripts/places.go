package transcripts

import "path/filepath"

// Place is where an agent keeps its sessions.
type Place struct {
	Format Format
	Path   string // a file or folder, which need not exist
}

// KnownPlaces are the places where agents keep their sessions by default, for a home directory
// and an environment, as os.Getenv gives it. The agents' own variables move them:
// CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, PI_CODING_AGENT_SESSION_DIR, OPENCODE_DB,
// XDG_DATA_HOME, XDG_CONFIG_HOME. The file system is not asked.
func KnownPlaces(home string, getenv func(string) string) []Place {
	or := func(variable string, fallback ...string) string {
		if dir := getenv(variable); dir != "" {
			return dir
		}
		return filepath.Join(append([]string{home}, fallback...)...)
	}
	var places []Place
	add := func(f Format, path ...string) { places = append(places, Place{f, filepath.Join(path...)}) }

	add(ClaudeCode, or("CLAUDE_CONFIG_DIR", ".claude"), "projects")
	if getenv("CLAUDE_CONFIG_DIR") == "" {
		add(ClaudeCode, or("XDG_CONFIG_HOME", ".config"), "claude", "projects")
	}
	codex := or("CODEX_HOME", ".codex")
	add(Codex, codex, "sessions")
	add(Codex, codex, "archived_sessions")
	if dir := getenv("PI_CODING_AGENT_SESSION_DIR"); dir != "" {
		add(Pi, dir)
	} else {
		add(Pi, or("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions")
	}
	data := filepath.Join(or("XDG_DATA_HOME", ".local", "share"), "opencode")
	db := getenv("OPENCODE_DB")
	switch {
	case db == "":
		add(OpenCode, data, "opencode.db")
	case filepath.IsAbs(db):
		add(OpenCode, db)
	default:
		add(OpenCode, data, db)
	}
	add(OpenCode, data, "storage")
	add(OpenCode, data, "project")
	return places
}
