package analysis

import (
	"strings"
	"testing"
)

// BenchmarkTokens measures the analyzer on prose, code and text in pairs.
func BenchmarkTokens(b *testing.B) {
	for _, bm := range []struct{ name, text string }{
		{"prose", "The deployment failed because the Server's connection pool was exhausted; restarting it helped. "},
		{"code", "func (s *HTTPServer) handleRequest(ctx context.Context) error { return s.store.Get(ctx, src/kv/key.go) } "},
		{"cyrillic", "Деплой сломался, потому что пул соединений был исчерпан, и перезапуск помог. "},
		{"han", "今天讨论了部署方案，数据库连接池耗尽，重启之后恢复正常。"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			a, err := New("")
			if err != nil {
				b.Fatal(err)
			}
			text := strings.Repeat(bm.text, 100)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for _, t := range a.Tokens(text) {
					a.Stem(t.Term)
				}
			}
		})
	}
}
