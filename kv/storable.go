package kv

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// checkStorable refuses what the encoder would take and not give back.
func checkStorable(v any) error {
	if v == nil {
		return nil
	}
	t := reflect.TypeOf(v)
	s, err := shapeOf(t)
	if err != nil || s.plain {
		return err
	}
	if err := checkValue(reflect.ValueOf(v), 0); err != nil {
		return fmt.Errorf("%w: %s%w", ErrUnstorable, t, err)
	}
	return nil
}

// shape is what is known of a type before a value is seen.
type shape struct {
	plain bool // neither a field that can hold anything nor a type inside itself
	err   error
}

// shapes remembers the shape of each type seen, as encoding/json does.
var shapes sync.Map // reflect.Type to shape

func shapeOf(t reflect.Type) (shape, error) {
	if s, ok := shapes.Load(t); ok {
		return s.(shape), s.(shape).err
	}
	s := shape{plain: true}
	s.err = s.visit(t, t.String(), map[reflect.Type]bool{})
	shapes.Store(t, s)
	return s, s.err
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	anyMapType = reflect.TypeFor[map[string]any]()
)

func (s *shape) visit(t reflect.Type, path string, inside map[reflect.Type]bool) error {
	if inside[t] {
		s.plain = false
		return nil
	}
	inside[t] = true
	defer delete(inside, t)
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return fmt.Errorf("%w: %s is a %s", ErrUnstorable, path, t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%w: %s is a %s, whose value cannot be made again", ErrUnstorable, path, t)
		}
		s.plain = false
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return s.visit(t.Elem(), path+"[]", inside)
	case reflect.Map:
		if err := s.visit(t.Key(), path+" key", inside); err != nil {
			return err
		}
		return s.visit(t.Elem(), path+"[]", inside)
	case reflect.Struct:
		return s.visitFields(t, path, inside)
	}
	return nil
}

func (s *shape) visitFields(t reflect.Type, path string, inside map[reflect.Type]bool) error {
	if t == timeType {
		return nil
	}
	for f := range t.Fields() {
		if f.Tag.Get("json") == "-" {
			continue
		}
		// An embedded struct lends its exported fields; a pointer to one that is not
		// exported could not be set.
		if !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct) {
			return fmt.Errorf("%w: %s.%s is not exported; mark it json:\"-\" if it is not to be kept", ErrUnstorable, path, f.Name)
		}
		if f.Type.Kind() == reflect.Interface && strings.Contains(f.Tag.Get("json"), ",omitempty") {
			return fmt.Errorf("%w: %s.%s would lose a false, 0 or \"\" that it holds; take omitempty away", ErrUnstorable, path, f.Name)
		}
		if err := s.visit(f.Type, path+"."+f.Name, inside); err != nil {
			return err
		}
	}
	return nil
}

// lost says what would be lost and, from the outside in, where.
type lost struct{ path, what string }

func (l *lost) Error() string { return fmt.Sprintf("%.80s %s", l.path, l.what) }

// within puts a step in front of the path of an error, on its way out. What is
// found to be sound thereby costs no path.
func within(format string, step any, err *lost) *lost {
	err.path = fmt.Sprintf(format, step) + err.path
	return err
}

// checkValue walks a value whose type can hold anything, or itself.
func checkValue(v reflect.Value, depth int) *lost {
	if s, _ := shapeOf(v.Type()); s.plain {
		return nil
	}
	if depth > maxDepth {
		return &lost{what: fmt.Sprintf("is nested deeper than %d", maxDepth)}
	}
	switch v.Kind() {
	case reflect.Interface:
		return checkAny(v.Interface(), depth)
	case reflect.Pointer:
		if !v.IsNil() {
			return checkValue(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkValue(v.Index(i), depth+1); err != nil {
				return within("[%d]", i, err)
			}
		}
	case reflect.Map:
		if v.Type() == anyMapType {
			return checkAny(v.Interface(), depth) // much the most common, and much faster
		}
		for it := v.MapRange(); it.Next(); {
			if err := checkValue(it.Key(), depth+1); err != nil {
				return within("[key %v]", it.Key(), err)
			}
			if err := checkValue(it.Value(), depth+1); err != nil {
				return within("[%v]", it.Key(), err)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Tag.Get("json") == "-" {
				continue
			}
			if err := checkValue(v.Field(i), depth+1); err != nil {
				return within(".%s", f.Name, err)
			}
		}
	}
	return nil
}

// checkAny checks what a field that can hold anything does hold: its type is not
// stored, so only what the decoder makes of itself comes back.
func checkAny(v any, depth int) *lost {
	if depth > maxDepth {
		return &lost{what: fmt.Sprintf("is nested deeper than %d", maxDepth)}
	}
	switch v := v.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64, string, time.Time:
		return nil
	case []any:
		for i, item := range v {
			if err := checkAny(item, depth+1); err != nil {
				return within("[%d]", i, err)
			}
		}
		return nil
	case map[string]any:
		for key, item := range v {
			if err := checkAny(item, depth+1); err != nil {
				return within("[%s]", key, err)
			}
		}
		return nil
	}
	return &lost{what: fmt.Sprintf("holds a %T, whose type would be lost", v)}
}
