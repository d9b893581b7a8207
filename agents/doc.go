// Package agents keeps the configurations of agents: who an agent is, which
// model it asks, what it may use and what it must ask for first.
//
// Every function takes any [kv.KVStorage], a transaction too, and does what
// belongs together in one kv.Update. An agent is addressed by its id, a ULID that
// never changes, and found by its name, which is unique and may.
//
// # Promises
//
// A name leads to one agent or to none. Every change moves Revision; a writer
// that states the revision it has read gets [kv.ErrConflict] if another was
// faster. Deleting the default agent leaves no default. Times are UTC.
//
// On a store whose updates are not atomic a crash can leave an agent that its
// name does not lead to, or a name that leads to an agent called otherwise. The
// first is still found by its id and by [List], the second is taken for absent,
// and [Reindex] mends both.
//
// # Keys
//
//	Agent     agent/{id}            AgentConfig, whole
//	          idx/agent/{name}      id
//	Config    default_agent         id
package agents
