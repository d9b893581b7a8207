package console

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// Ago returns how long before now a time is, in ten columns at most: as in 5m ago, 3h
// ago, 2d ago; of what is longer ago than a month, and of what is to come, the date
// in the local zone. Of no time it returns nothing.
func Ago(t, now time.Time) string {
	const day = 24 * time.Hour
	switch since := now.Sub(t); {
	case t.IsZero():
		return ""
	case since < -time.Minute || since > 30*day:
		return t.Local().Format(time.DateOnly)
	case since < time.Minute:
		return "just now"
	case since < time.Hour:
		return fmt.Sprintf("%dm ago", since/time.Minute)
	case since < day:
		return fmt.Sprintf("%dh ago", since/time.Hour)
	default:
		return fmt.Sprintf("%dd ago", since/day)
	}
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
