// Package harnesses keeps images: the programs in which agents run, whatever
// their format, each under the digest of its bytes and any number of names.
//
// Every function takes any [kv.KVStorage], a transaction too, and does what
// belongs together in one kv.Update.
//
// # Promises
//
// An image is stored once, however many names it has, and lives as long as a name
// leads to it. What [Get] returns has the digest that it was asked for: other bytes
// are [kv.ErrCorrupt].
//
// On a store whose updates are not atomic a crash can leave an image that no name
// leads to, which [Prune] removes; it never leaves a name that leads to nothing.
//
// # Names
//
// A name is written like those of container images, such as review, team/review or
// registry:5000/team/review:1.2. It is 1 to [MaxName] bytes long and made of parts
// with slashes between them; a part holds ASCII letters, digits and . _ - : and is
// neither . nor .. at that. A name is taken as it is written: nothing is added to
// one without a tag. What begins with sha256: is a digest and no name.
//
// # Keys
//
//	Harness   image/{digest}        bytes
//	          size/{digest}         how many they are, in decimal, so that a list reads none of them
//	          name/{name}           digest
package harnesses
