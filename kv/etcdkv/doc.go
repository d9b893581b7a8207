// Package etcdkv makes an etcd cluster a kv.KVStorage.
package etcdkv
