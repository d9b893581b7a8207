package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/kv"
)

func (a *app) storeReadState() *cobra.Command {
	var session string
	c := &cobra.Command{
		Use: "read-state", Short: "Write what is stored of sessions as JSON", Args: takes(),
		Long: `Write what is stored of each session as one JSON object a line: meta, archive, state,
messages and events, as they are and not as other commands show them. Nothing is
locked or changed, and a program may be writing the store meanwhile. Binary values are
objects with one field, $base64.`,
	}
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		return a.reading(ctx, func(s kv.KVStorage) error {
			if session == "" {
				return a.readStates(ctx, s)
			}
			handle, err := resolve(ctx, s, session)
			if err != nil {
				return err
			}
			return a.readState(ctx, s, handle)
		})
	})
	c.Flags().StringVar(&session, "session", "", "only this one; the beginning of its handle will do")
	return c
}

func (a *app) readStates(ctx context.Context, s kv.KVStorage) error {
	for handle, err := range handles(ctx, s, "") {
		if err != nil {
			return err
		}
		if err := a.readState(ctx, s, handle); err != nil {
			return err
		}
	}
	return nil
}

// sessionState is what is stored of a session.
type sessionState struct {
	Session  string                     `json:"session"`
	Meta     json.RawMessage            `json:"meta,omitempty"`
	Archive  json.RawMessage            `json:"archive,omitempty"`
	State    json.RawMessage            `json:"state,omitempty"`
	Messages []json.RawMessage          `json:"messages"`
	Events   []json.RawMessage          `json:"events"`
	Other    map[string]json.RawMessage `json:"other,omitempty"` // what this program does not know
}

func (a *app) readState(ctx context.Context, s kv.KVStorage, handle string) error {
	st := sessionState{Session: handle, Messages: []json.RawMessage{}, Events: []json.RawMessage{}}
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		for e, err := range tx.Scan(ctx, kv.Session, kv.Prefix(tx, "session", handle)) {
			if err != nil {
				return err
			}
			if err := st.add(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.writeJSON(st)
}

// add takes what is stored under one key.
func (st *sessionState) add(e kv.Entry) error {
	_, parts, err := kv.Split(e.Key)
	if err != nil {
		return err
	}
	text, _ := kv.ToJSON(e.Value)
	switch rest := parts[2:]; {
	case len(rest) == 1 && rest[0] == "meta":
		st.Meta = text
	case len(rest) == 1 && rest[0] == "archive":
		st.Archive = text
	case len(rest) == 1 && rest[0] == "state":
		st.State = text
	case len(rest) == 2 && rest[0] == "msg":
		st.Messages = append(st.Messages, text)
	case len(rest) == 2 && rest[0] == "evt":
		st.Events = append(st.Events, text)
	default:
		if st.Other == nil {
			st.Other = map[string]json.RawMessage{}
		}
		st.Other[kv.Join(rest...)] = text
	}
	return nil
}
