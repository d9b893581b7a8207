package transcripts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkRead reads a session file of each format of lines, about 8 MB, written as the agents
// write: prompts, thoughts, calls, and results of a few kilobytes. messages/s and MB/s are of one
// goroutine.
func BenchmarkRead(b *testing.B) {
	result := strings.Repeat(`	if err := f(); err != nil {\n\t\treturn fmt.Errorf(\"open: %w\", err)\n	}\n`, 40)
	result = strings.ReplaceAll(result, "\t", `\t`)
	for format, turn := range map[Format]string{
		ClaudeCode: `{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/me/src","sessionId":"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f","version":"2.1.80","gitBranch":"main","type":"user","message":{"role":"user","content":"Why does the parser fail on line %[1]d?"},"uuid":"aaaaaaaa-0000-4000-8000-%012[1]d","timestamp":"2026-01-02T03:04:05.678Z"}
{"parentUuid":"aaaaaaaa-0000-4000-8000-%012[1]d","isSidechain":false,"userType":"external","cwd":"/home/me/src","sessionId":"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f","version":"2.1.80","gitBranch":"main","message":{"model":"claude-opus-5","id":"msg_00000000%016[1]d","type":"message","role":"assistant","content":[{"type":"text","text":"Let me look at the parser first."}],"usage":{"input_tokens":10,"output_tokens":3}},"type":"assistant","uuid":"bbbbbbbb-0000-4000-8000-%012[1]d","timestamp":"2026-01-02T03:04:06.678Z"}
{"parentUuid":"bbbbbbbb-0000-4000-8000-%012[1]d","isSidechain":false,"userType":"external","cwd":"/home/me/src","sessionId":"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f","version":"2.1.80","gitBranch":"main","message":{"model":"claude-opus-5","id":"msg_00000000%016[1]d","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_%[1]d","name":"Read","input":{"file_path":"/home/me/src/parser.go"}}],"usage":{"input_tokens":10,"output_tokens":93}},"type":"assistant","uuid":"cccccccc-0000-4000-8000-%012[1]d","timestamp":"2026-01-02T03:04:06.679Z"}
{"parentUuid":"cccccccc-0000-4000-8000-%012[1]d","isSidechain":false,"userType":"external","cwd":"/home/me/src","sessionId":"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f","version":"2.1.80","gitBranch":"main","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%[1]d","type":"tool_result","content":"%[2]s"}]},"uuid":"dddddddd-0000-4000-8000-%012[1]d","timestamp":"2026-01-02T03:04:07.678Z","toolUseResult":{"type":"text","file":{"content":"%[2]s"}}}
`,
		Codex: `{"timestamp":"2026-01-02T03:04:05.678Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Why does the parser fail on line %[1]d?"}]}}
{"timestamp":"2026-01-02T03:04:05.679Z","type":"event_msg","payload":{"type":"user_message","message":"Why does the parser fail on line %[1]d?"}}
{"timestamp":"2026-01-02T03:04:06.678Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cat parser.go\"}","call_id":"call_00000000%016[1]d"}}
{"timestamp":"2026-01-02T03:04:07.678Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_00000000%016[1]d","output":"%[2]s"}}
{"timestamp":"2026-01-02T03:04:08.678Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":10,"output_tokens":93}}}}
`,
		Pi: `{"type":"message","id":"%08[1]x","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":[{"type":"text","text":"Why does the parser fail on line %[1]d?"}],"timestamp":1767323045678}}
{"type":"message","id":"1%07[1]x","parentId":"%08[1]x","timestamp":"2026-01-02T03:04:06.678Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t%[1]d","name":"read","arguments":{"path":"parser.go"}}],"model":"m","usage":{"input":1,"output":2}}}
{"type":"message","id":"2%07[1]x","parentId":"1%07[1]x","timestamp":"2026-01-02T03:04:07.678Z","message":{"role":"toolResult","toolCallId":"t%[1]d","toolName":"read","content":[{"type":"text","text":"%[2]s"}],"isError":false}}
`,
	} {
		b.Run(string(format), func(b *testing.B) {
			var s strings.Builder
			for i := 0; s.Len() < 8<<20; i++ {
				fmt.Fprintf(&s, turn, i, result)
			}
			path := filepath.Join(b.TempDir(), "s.jsonl")
			if err := os.WriteFile(path, []byte(s.String()), 0o600); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(s.Len()))
			b.ReportAllocs()
			messages := 0
			for b.Loop() {
				for batch, err := range Read(context.Background(), Source{Path: path, Format: format, Layout: Lines}, Cursor{}, Options{}) {
					if err != nil {
						b.Fatal(err)
					}
					messages += len(batch.Messages)
				}
			}
			b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
