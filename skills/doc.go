// Package skills keeps Agent Skills: SKILL.md files, byte for byte, and of each a
// summary by which it is listed, found and judged without reading it.
//
// Every function takes any [kv.KVStorage], a transaction too, and does what
// belongs together in one kv.Update.
//
// # Reading a SKILL.md
//
// Such files are written by people, in many editors, for programs that read them
// differently. [Parse] is tolerant of that, and tells what it passed over in
// Summary.Warnings:
//
//   - UTF-8 with or without a byte-order mark and UTF-16, any line ends, blank
//     lines before the front matter.
//   - Values keep their written text: a version 1.0 is no number, a name no is no
//     boolean. A word where a list is expected is a list of one.
//   - A value that is plainly a text but not YAML, as a sentence with a colon in
//     it, is read as that text.
//   - A description that is missing or too long, a name that is outside the
//     specification but harmless (see [MaxName]), or other than its folder's.
//
// It never loses a restriction by that. A file is a [Fault], with its line and
// the reason, when it cannot be told what the skill may do: when the damage is at
// a restriction (allowed-tools, disallowed-tools, tools, disable-model-invocation,
// user-invocable) or may hide one, when a field is there twice, when there is no
// front matter. A flag that is neither true nor false limits. Fields that this
// package does not know are kept in Summary.Extra, for those who do.
//
// # Names
//
// A name is one of a list of what can be, so that it is no path anywhere; one that
// differs from another by case or Unicode composition alone clashes with it. Of two
// skills that clash the second is refused and reported: none ever takes the place
// of one from elsewhere unless [Replace] says so.
//
// # Keys
//
//	Skill     skill/body/{name}     SKILL.md, byte for byte
//	          skill/meta/{name}     Summary
//	Text      idx/text/skill/…      a document {name} for every skill
//
// On a store whose updates are not atomic a crash can leave a body without a
// summary, which nothing lists, or a new body under the old summary, which [Body]
// refuses until the file is added again. [Reindex] mends the text index.
//
// header.go finds the front matter, fields.go and repair.go read it as YAML, and
// values.go and summary.go make of that what it says.
package skills
