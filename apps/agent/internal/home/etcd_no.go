//go:build !etcd

package home

var openEtcd opener
