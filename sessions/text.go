package sessions

import "context"

func (b *Batch) flushText(ctx context.Context) error { return nil }

func (b *Batch) dropText(ctx context.Context, handle string) error { return nil }

func (b *Batch) dropMessageText(ctx context.Context, d *draft, gone []int) error { return nil }
