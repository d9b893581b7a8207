package textsearch

import (
	"context"
	"fmt"
	"testing"

	"github.com/crabstore/crabstore/kv/memkv"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s := memkv.New()
	for i, d := range []string{"call refresh_token_rotation and getUserById, parseHTMLResponse, HTTPServer2, kebab-case-name, __init__", "今天讨论了部署方案", "カタカナ検索テスト", "修复ok的bug", "deployment succeeded", "ＡＢＣ１２３ café Straße src/kv/key.go v1.2.3 C++ C# E0382"} {
		if err := Put(ctx, s, "t", fmt.Sprint("d", i), d, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []string{"token", "rotation", "user", "user by id", "html", "getUserById", "init", "server2", "部署", "検索", "部", "ok", "bug", "deploy", "deployme*", "abc123", "CAFE\u0301", "STRASSE", "1.2.3", "c++", "c", "e0382", "key.go", "\"user html\"", "\"user bug\"", "the"} {
		r, err := Search(ctx, s, "t", Query{Text: q})
		t.Log(q, r, err)
	}
	t.Log(DropPrefix(ctx, s, "t", "d"))
	for e := range s.Scan(ctx, 6, nil) {
		t.Error(string(e.Key))
	}
	t.Log(Snippet("the quick brown fox was deployed yesterday", Highlight("the quick brown fox was deployed yesterday", "deploy"), 20))
}
