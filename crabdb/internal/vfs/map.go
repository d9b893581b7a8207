package vfs

// Mapped returns the file with reads that need no system call, where the system has
// such; else the file as it is. The two have the same content at any moment, and the
// returned one takes the file's place: closing it closes both.
//
// One thing is different. Where a file ends, memory goes on with zeros up to the end
// of the page. A read across the end of a file may so be filled up with zeros where
// ReadAt of the file itself would say io.EOF: a reader has to know by a checksum what
// it reads. Behind that page it is told.
func Mapped(f File) File {
	if m, ok := f.(interface{ mapped() (File, error) }); ok {
		if mapped, err := m.mapped(); err == nil { // else there is no room for it, and the file does
			return mapped
		}
	}
	return f
}
