// Package jsonkv is a store in plain JSON files.
package jsonkv
