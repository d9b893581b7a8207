//go:build !json

package home

var (
	openJSON    opener
	restoreJSON restorer
)
