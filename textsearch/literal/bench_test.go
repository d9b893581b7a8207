package literal

import (
	"strings"
	"testing"
)

// prose is 64 KiB of words that are about as long and as frequent as those of
// English, from a small generator of numbers.
func prose() string {
	words := strings.Fields(`the of and to in a is that it was for on with as be at by this had not are but from or have an they which one
		you were all her she there would their we him been has when who will no more if out so said what up its about into than them can only other
		time new some could these two may first then do any like my now over such our man me even most made after also did many before must through
		years where much your way well down should because each just those people too state good very make world still own see men work long here get
		session message index literal search storage engine record posting checkpoint watermark deployment succeeded database transaction`)
	var text strings.Builder
	for n := uint32(1); text.Len() < 64<<10; {
		n = n*1664525 + 1013904223
		word := words[int(n>>16)%len(words)]
		text.WriteString(word)
		switch n >> 8 % 16 {
		case 0:
			text.WriteString(". ")
		case 1:
			text.WriteString(",\n")
		default:
			text.WriteByte(' ')
		}
	}
	return text.String()[:64<<10]
}

func BenchmarkFind(b *testing.B) {
	english := prose()
	for _, c := range []struct{ name, text, needle string }{
		{"ascii/absent", english, "Quick brown fox"},
		{"ascii/common-letters", english, "tional statement"},
		{"ascii/short", english, "ion"},
		{"ascii/present", english, "watermark"},
		{"quotes", strings.ReplaceAll(english, ",", "’"), "tional statement"},
		{"french", strings.ReplaceAll(english, "the", "thé"), "tional statement"},
		{"french/accent", strings.ReplaceAll(english, "the", "thé"), "the théorie"},
		{"german/sharp-s", strings.ReplaceAll(english, "the", "daß"), "professional"},
		{"turkish", strings.ReplaceAll(english, "i", "ı"), "tional statement"},
		{"cyrillic", strings.Repeat("Съешь ещё этих мягких французских булок, да выпей чаю. ", 640), "объявление"},
		{"chinese", strings.Repeat("今天讨论了部署方案，明天修复检索。", 1300), "部署方法"},
		{"korean", strings.Repeat("가나다라 조선역사 검색 시험 ", 1600), "조선시대"},
		{"worst/candidates", strings.Repeat(strings.Repeat("a", 79)+"b", 820), strings.Repeat("a", 80)},
		{"worst/irregular", strings.Repeat("sſ", 22<<10), strings.Repeat("s", 40) + "b"},
		{"one-letter", english, "Q"},
		{"message/330", english[1000:1330], "tional statement"},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := NewMatcher(c.needle)
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				for range m.Find(c.text) {
				}
			}
		})
	}
}

func BenchmarkNewMatcher(b *testing.B) {
	for b.Loop() {
		NewMatcher("deployment succeeded")
	}
}

func BenchmarkTrigrams(b *testing.B) {
	english := prose()
	for _, c := range []struct{ name, text string }{
		{"ascii/330", english[:330]},
		{"quotes/330", strings.ReplaceAll(english[:330], ",", "’")},
		{"ascii/64KiB", english},
		{"cyrillic/330", strings.Repeat("Съешь ещё этих мягких французских булок, да выпей чаю. ", 5)[:330]},
		{"chinese/330", strings.Repeat("今天讨论了部署方案，明天修复检索。", 10)[:330]},
	} {
		b.Run(c.name, func(b *testing.B) {
			var grams Trigrammer
			var all []Trigram
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				all = grams.Append(all[:0], c.text)
			}
			b.ReportMetric(float64(len(all)), "trigrams")
		})
	}
}
