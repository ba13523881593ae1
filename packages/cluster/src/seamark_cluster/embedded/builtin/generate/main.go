// Writes the types of the built-in kinds, by reflection: which fields they have, which are optional, which are pointers.
// With the argument "numbers" it writes the numbers that the fields have in protobuf instead.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var leaves = map[reflect.Type]string{
	reflect.TypeOf(resource.Quantity{}):                          "quantity",
	reflect.TypeOf(meta.Time{}):                                  "time",
	reflect.TypeOf(meta.MicroTime{}):                             "microtime",
	reflect.TypeOf(meta.Duration{}):                              "duration",
	reflect.TypeOf(meta.FieldsV1{}):                              "any",
	reflect.TypeOf(intstr.IntOrString{}):                         "intstr",
	reflect.TypeOf(runtime.RawExtension{}):                       "any",
	reflect.TypeOf(apiextensions.JSON{}):                         "any",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrBool{}):        "schemaOrBool",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrArray{}):       "schemaOrArray",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrStringArray{}): "any",
}

type table map[string]map[string]map[string]any

func (t table) name(typ reflect.Type) string {
	path := strings.NewReplacer("k8s.io/", "", "apiextensions-apiserver/pkg/apis/", "", "apimachinery/pkg/apis/", "", "api/", "").Replace(typ.PkgPath())
	return path + "." + typ.Name()
}

func (t table) describe(typ reflect.Type) map[string]any {
	if leaf, ok := leaves[typ]; ok {
		return map[string]any{"t": leaf}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		inner := t.describe(typ.Elem())
		inner["p"] = true
		return inner
	case reflect.Struct:
		t.structure(typ)
		return map[string]any{"t": "struct", "s": t.name(typ)}
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"t": "bytes"}
		}
		return map[string]any{"t": "list", "of": t.describe(typ.Elem())}
	case reflect.Map:
		return map[string]any{"t": "map", "of": t.describe(typ.Elem())}
	default:
		return map[string]any{"t": typ.Kind().String()}
	}
}

func (t table) structure(typ reflect.Type) {
	name := t.name(typ)
	if _, ok := t[name]; ok {
		return
	}
	fields := map[string]map[string]any{}
	t[name] = fields
	t.fields(typ, fields)
}

func (t table) fields(typ reflect.Type, fields map[string]map[string]any) {
	for i := 0; i < typ.NumField(); i++ {
		f := typ.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		if tag[0] == "-" || !f.IsExported() {
			continue
		}
		if tag[0] == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			t.fields(inner, fields)
			continue
		}
		d := t.describe(f.Type)
		for _, option := range tag[1:] {
			if option == "omitempty" {
				d["o"] = true
			}
			if option == "omitzero" {
				d["z"] = true
			}
		}
		if s := f.Tag.Get("patchStrategy"); s != "" {
			d["ps"] = s
		}
		if s := f.Tag.Get("patchMergeKey"); s != "" {
			d["pk"] = s
		}
		fields[tag[0]] = d
	}
}

// numbers has, for each type, the protobuf number of each field by its JSON name. A type that is inlined in JSON is a
// message of its own in protobuf: it stands under "/" and its number, with its name.
type numbers map[string]map[string]any

func (n numbers) add(typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	name := table{}.name(typ)
	if _, ok := n[name]; ok || typ.Kind() != reflect.Struct || leaves[typ] != "" {
		return
	}
	fields := map[string]any{}
	n[name] = fields
	for i := 0; i < typ.NumField(); i++ {
		f := typ.Field(i)
		tag := strings.Split(f.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue
		}
		n.add(f.Type)
		if json := strings.Split(f.Tag.Get("json"), ",")[0]; json != "" {
			fields[json] = tag[1]
		} else {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			fields["/"+tag[1]] = table{}.name(inner)
		}
	}
}

func main() {
	t := table{}
	n := numbers{}
	for _, object := range []any{
		core.Namespace{}, core.ConfigMap{}, core.Secret{}, core.Service{}, core.Pod{}, core.Node{}, core.Event{}, core.ServiceAccount{}, core.ResourceQuota{},
		core.Endpoints{}, core.PersistentVolumeClaim{}, core.PersistentVolume{}, core.LimitRange{}, core.PodTemplate{}, core.ReplicationController{}, core.Binding{},
		events.Event{}, coordination.Lease{}, apps.Deployment{}, apps.StatefulSet{}, apps.ReplicaSet{}, apps.DaemonSet{}, apps.ControllerRevision{}, discovery.EndpointSlice{},
		networking.Ingress{}, networking.IngressClass{}, networking.NetworkPolicy{}, rbac.Role{}, rbac.RoleBinding{}, rbac.ClusterRole{}, rbac.ClusterRoleBinding{},
		admissionregistration.ValidatingAdmissionPolicy{}, admissionregistration.ValidatingAdmissionPolicyBinding{}, admissionregistration.ValidatingWebhookConfiguration{}, admissionregistration.MutatingWebhookConfiguration{},
		apiextensions.CustomResourceDefinition{},
		authorization.SelfSubjectAccessReview{}, authorization.SubjectAccessReview{}, authorization.LocalSubjectAccessReview{}, authorization.SelfSubjectRulesReview{},
		authentication.TokenReview{}, authentication.TokenRequest{}, authentication.SelfSubjectReview{}, batch.Job{}, batch.CronJob{}, policy.PodDisruptionBudget{}, policy.Eviction{}, autoscaling.Scale{}, meta.DeleteOptions{}, meta.PartialObjectMetadata{},
	} {
		t.structure(reflect.TypeOf(object))
		n.add(reflect.TypeOf(object))
	}
	out := json.NewEncoder(os.Stdout)
	if len(os.Args) > 1 && os.Args[1] == "numbers" {
		if err := out.Encode(n); err != nil {
			panic(err)
		}
		return
	}
	if err := out.Encode(t); err != nil {
		panic(err)
	}
}
