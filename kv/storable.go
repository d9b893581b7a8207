package kv

import (
	"fmt"
	"reflect"
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
	if err != nil {
		return err
	}
	if s.plain {
		return nil
	}
	return checkValue(reflect.ValueOf(v), t.String(), 0)
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

var timeType = reflect.TypeFor[time.Time]()

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
		if !f.IsExported() && !f.Anonymous {
			return fmt.Errorf("%w: %s.%s is not exported; mark it json:\"-\" if it is not to be kept", ErrUnstorable, path, f.Name)
		}
		if err := s.visit(f.Type, path+"."+f.Name, inside); err != nil {
			return err
		}
	}
	return nil
}

// checkValue walks a value whose type can hold anything, or itself.
func checkValue(v reflect.Value, path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: %.80s… is nested deeper than %d", ErrUnstorable, path, maxDepth)
	}
	switch v.Kind() {
	case reflect.Interface:
		return checkDynamic(v, path, depth)
	case reflect.Pointer:
		if !v.IsNil() {
			return checkValue(v.Elem(), path, depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := checkValue(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := checkValue(it.Value(), fmt.Sprintf("%s[%v]", path, it.Key()), depth+1); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if v.Type() == timeType || f.Tag.Get("json") == "-" {
				continue
			}
			if err := checkValue(v.Field(i), path+"."+f.Name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDynamic checks what a field that can hold anything does hold: its type is
// not stored, so only what the decoder makes of itself comes back.
func checkDynamic(v reflect.Value, path string, depth int) error {
	if v.IsNil() {
		return nil
	}
	switch v.Elem().Interface().(type) {
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64, string, time.Time:
		return nil
	case []any, map[string]any:
		return checkValue(v.Elem(), path, depth+1)
	}
	return fmt.Errorf("%w: %s holds a %s, whose type would be lost", ErrUnstorable, path, v.Elem().Type())
}
