//go:build !pebble

package home

var (
	openPebble    opener
	restorePebble restorer
)
