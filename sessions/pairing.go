package sessions

import "slices"

// place is where a block is in a list of messages.
type place struct{ message, block int }

// call is a tool call in a list of messages.
type call struct {
	at       place
	answered int  // the last message with a result of it; -1 for none
	open     bool // its result may still come
}

// answers tells whether a block belongs to the result of a call.
func (b *Block) answers() bool { return b.Type == ToolResult || b.Type == Image && b.ID != "" }

// pair finds the tool calls in a list of messages, in order, and the blocks that
// answer none of them. A result is that of the last call of its ID before it,
// since some providers count the calls of each turn anew.
func pair(list []Message) (calls []call, orphans []place) {
	last := map[string]int{} // where in calls the last one of an ID is
	for i := range list {
		for j := range list[i].Blocks {
			b := &list[i].Blocks[j]
			switch {
			case b.Type == ToolUse:
				last[b.ID] = len(calls)
				calls = append(calls, call{at: place{i, j}, answered: -1})
			case b.answers():
				if c, known := last[b.ID]; known {
					calls[c].answered = i
				} else {
					orphans = append(orphans, place{i, j})
				}
			}
		}
	}
	turn := lastTurn(list)
	for i := range calls {
		calls[i].open = calls[i].answered < 0 && calls[i].at.message >= turn
	}
	return calls, orphans
}

// lastTurn returns where the last turn of a conversation begins: a message of a
// user that is more than results, or of the assistant behind a result. Calls of an
// earlier turn are not answered any more.
func lastTurn(list []Message) int {
	turn, results := 0, false
	for i := range list {
		m := &list[i]
		answering := slices.ContainsFunc(m.Blocks, func(b Block) bool { return b.answers() })
		saying := slices.ContainsFunc(m.Blocks, func(b Block) bool { return !b.answers() })
		if m.Role == User && saying || m.Role == Assistant && results {
			turn = i
		}
		results = answering || results && m.Role != Assistant
	}
	return turn
}

// boundary returns the index from which on a context keeps the last messages of
// list, at least keep of them, and no call without its result or the other way
// round. next is the index behind the list.
func boundary(list []Message, keep, next int) int {
	at := len(list) - min(max(keep, 0), len(list))
	calls, _ := pair(list)
	for _, c := range slices.Backward(calls) {
		if c.at.message < at && (c.answered >= at || c.open) {
			at = c.at.message
		}
	}
	if at == len(list) {
		return next
	}
	return list[at].Index
}

// paired returns list without the blocks that lack their other half, and without
// the messages that consisted of such. It changes list.
func paired(list []Message) []Message {
	calls, orphans := pair(list)
	drop := map[place]bool{}
	for _, p := range orphans {
		drop[p] = true
	}
	for _, c := range calls {
		drop[c.at] = c.answered < 0 && !c.open
	}
	kept := list[:0]
	for i, m := range list {
		blocks := m.Blocks[:0]
		for j, b := range m.Blocks {
			if !drop[place{i, j}] {
				blocks = append(blocks, b)
			}
		}
		if len(blocks) > 0 || len(m.Blocks) == 0 {
			m.Blocks = blocks
			kept = append(kept, m)
		}
	}
	return kept
}
