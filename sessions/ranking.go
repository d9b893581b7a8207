package sessions

import "github.com/crabstore/crabstore/kv"

// Ranking is the numbers by which sessions are found. Weights multiply the score
// of what matched and are applied when it is indexed: after changing one, Reindex.
// The zero value of each number means its default.
type Ranking struct {
	User      float64 // weight of what a user says
	ToolCall  float64 // weight of an assistant's message that calls tools and says nothing
	Assistant float64 // weight of what an assistant says
	Title     float64 // weight of a session's title
	Summary   float64 // weight of a session's summary

	Candidates int // matching texts that are looked at, for each of Hits
	Hits       int // at most so many sessions are found
	Window     int // at most so many messages are shown of each
	Snippet    int // at most so many bytes are shown of each message
}

// DefaultRanking returns the numbers that hold for a store without Ranked. They
// are those of the project's requirements, and not measured.
func DefaultRanking() Ranking {
	return Ranking{
		User: 1.5, ToolCall: 1.3, Assistant: 1, Title: 2, Summary: 3,
		Candidates: 10, Hits: 20, Window: 16, Snippet: 1024,
	}
}

// Ranked is a store that has its own numbers for finding sessions. A wrapper that
// sets them hands them on to its transactions, as kv.InRealm does the realm.
type Ranked interface {
	SessionRanking() Ranking
}

func rankingOf(s kv.KVStorage) Ranking {
	def := DefaultRanking()
	t, ok := kv.As[Ranked](s)
	if !ok {
		return def
	}
	r := t.SessionRanking()
	return Ranking{
		User: orDefault(r.User, def.User), ToolCall: orDefault(r.ToolCall, def.ToolCall),
		Assistant: orDefault(r.Assistant, def.Assistant),
		Title:     orDefault(r.Title, def.Title), Summary: orDefault(r.Summary, def.Summary),
		Candidates: orDefault(r.Candidates, def.Candidates), Hits: orDefault(r.Hits, def.Hits),
		Window: orDefault(r.Window, def.Window), Snippet: orDefault(r.Snippet, def.Snippet),
	}
}
