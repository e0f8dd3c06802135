// Says what kube-apiserver says about schemas and objects: one JSON request a line in, one answer a line out.
//
// It calls the published modules of Kubernetes, so the words are the server's own. `go mod tidy && go build`,
// then feed it {"schema": ..., "object": ..., "old": ...}; the golden files beside it were recorded that way.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
)

type req struct {
	Schema json.RawMessage `json:"schema"`
	Object json.RawMessage `json:"object"`
	Old    json.RawMessage `json:"old"`
	// Rules asks what is known of each rule at the root of the schema, without limits.
	Rules bool `json:"rules"`
	// Patterns are only compiled.
	Patterns []string `json:"patterns"`
}
type ruleOut struct {
	Error       string `json:"error,omitempty"`
	Cost        uint64 `json:"cost,omitempty"`
	Cardinality uint64 `json:"cardinality,omitempty"`
}
type errOut struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}
type resp struct {
	Panic  string      `json:"panic,omitempty"`
	Crd    []string    `json:"crd"`
	Pruned []string    `json:"pruned"`
	Object interface{} `json:"object"`
	Errors []errOut    `json:"errors"`
	Rules  []ruleOut   `json:"rules,omitempty"`
	// Patterns holds what is wrong with each, or nothing.
	Patterns []string `json:"patterns,omitempty"`
}

func outs(l field.ErrorList) []errOut {
	r := []errOut{}
	for _, e := range l {
		r = append(r, errOut{string(e.Type), e.Error()})
	}
	return r
}

// strategy does what the storage of custom resources does on create and update.
func strategy(s *schema.Structural, validator validation.SchemaValidator, obj, old map[string]interface{}) field.ErrorList {
	var errs field.ErrorList
	var celOptions []cel.Option
	var before interface{}
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, obj, validator)...)
		errs = append(errs, objectmeta.Validate(nil, obj, s, false)...)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s, obj)...)
	} else {
		before = old
		correlated := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s})
		celOptions = append(celOptions, cel.WithRatcheting(correlated))
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, obj, old, validator, validation.WithRatcheting(correlated))...)
		errs = append(errs, objectmeta.Validate(nil, obj, s, false)...)
		if len(listtype.ValidateListSetsAndMaps(nil, s, old)) == 0 {
			errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s, obj)...)
		}
	}
	celValidator := cel.NewValidator(s, true, celconfig.PerCallLimit)
	if celValidator == nil {
		return errs
	}
	for _, e := range errs {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
		}
	}
	more, _ := celValidator.Validate(context.Background(), nil, s, obj, before, celconfig.RuntimeCELCostBudget, celOptions...)
	return append(errs, more...)
}

func rules(props *v1.JSONSchemaProps) []ruleOut {
	var ip apiextensions.JSONSchemaProps
	if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &ip, nil); err != nil {
		panic(err)
	}
	s, err := schema.NewStructural(&ip)
	if err != nil {
		panic(err)
	}
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := cel.Compile(s, model.SchemaDeclType(s, false), celconfig.PerCallLimit, env, cel.StoredExpressionsEnvLoader())
	if err != nil {
		panic(err)
	}
	out := []ruleOut{}
	for _, each := range results {
		if each.Error != nil {
			out = append(out, ruleOut{Error: each.Error.Detail})
		} else {
			out = append(out, ruleOut{Cost: each.MaxCost, Cardinality: each.MaxCardinality})
		}
	}
	return out
}

func handle(q req) (r resp) {
	defer func() {
		if p := recover(); p != nil {
			r.Panic = fmt.Sprint(p)
		}
	}()
	for _, p := range q.Patterns {
		text := ""
		if _, err := regexp.Compile(p); err != nil {
			text = err.Error()
		}
		r.Patterns = append(r.Patterns, text)
	}
	if len(q.Patterns) > 0 {
		return
	}
	var props v1.JSONSchemaProps
	if err := json.Unmarshal(q.Schema, &props); err != nil {
		r.Panic = err.Error()
		return
	}
	crd := &v1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: v1.CustomResourceDefinitionSpec{Group: "example.com", Scope: "Namespaced",
			Names:    v1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"},
			Versions: []v1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &v1.CustomResourceValidation{OpenAPIV3Schema: &props}, Subresources: &v1.CustomResourceSubresources{Status: &v1.CustomResourceSubresourceStatus{}}}},
		},
		Status: v1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
	v1.SetDefaults_CustomResourceDefinition(crd)
	v1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		r.Panic = err.Error()
		return
	}
	r.Crd = []string{}
	for _, e := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal) {
		r.Crd = append(r.Crd, e.Error())
	}
	if q.Rules {
		r.Rules = rules(&props)
	}
	if len(q.Object) == 0 {
		return
	}
	var ip apiextensions.JSONSchemaProps
	if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &ip, nil); err != nil {
		r.Panic = err.Error()
		return
	}
	s, err := schema.NewStructural(&ip)
	if err != nil {
		r.Panic = err.Error()
		return
	}
	validator, _, err := validation.NewSchemaValidator(&ip)
	if err != nil {
		r.Panic = err.Error()
		return
	}
	parse := func(b json.RawMessage) map[string]interface{} {
		if len(b) == 0 || string(b) == "null" {
			return nil
		}
		var m map[string]interface{}
		if err := kjson.Unmarshal(b, &m); err != nil {
			panic(err)
		}
		return m
	}
	obj := parse(q.Object)
	old := parse(q.Old)
	r.Pruned = pruning.PruneWithOptions(obj, s, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, s)
	defaulting.Default(obj, s)
	r.Object = obj
	if old != nil {
		pruning.Prune(old, s, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(old, s)
		defaulting.Default(old, s)
	}
	r.Errors = outs(strategy(s, validator, obj, old))
	return
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	dec := json.NewDecoder(in)
	for {
		var q req
		if err := dec.Decode(&q); err != nil {
			return
		}
		enc.Encode(handle(q))
	}
}
