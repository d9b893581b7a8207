//go:build !postgres

package home

var openPostgres opener
