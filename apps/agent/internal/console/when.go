package console

import (
	"time"

	"github.com/dustin/go-humanize"
)

// Ago returns how long before now a time is, in words; of what is longer ago than a
// month, the date, in the local zone. Of no time it returns nothing.
func Ago(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case now.Sub(t) > 30*24*time.Hour || t.Sub(now) > time.Minute:
		return t.Local().Format("2006-01-02")
	}
	return humanize.RelTime(t, now, "ago", "from now")
}

// Stamp returns a time to the minute, in the local zone.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// Size returns a number of bytes, as in 1.2 MiB.
func Size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// Count returns a number with its thousands apart.
func Count[T int | int64](n T) string { return humanize.Comma(int64(n)) }

// Plural returns a number and what it is of, as in "1 file" and "2 files".
func Plural[T int | int64](n T, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + one + "s"
}
