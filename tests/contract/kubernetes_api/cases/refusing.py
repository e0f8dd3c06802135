"""Validation of Ingresses, NetworkPolicies, disruption budgets, webhooks, and Services that change their type."""

from contract.kubernetes_api.objects import SERVICES
from contract.kubernetes_api.session import STRATEGIC, Session

NETWORKING = "/apis/networking.k8s.io/v1/namespaces/{ns}"
INGRESSES = f"{NETWORKING}/ingresses"
POLICIES = f"{NETWORKING}/networkpolicies"
BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"


def _of(api_version, kind, name="a", **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def _ingress(**spec):
    return _of("networking.k8s.io/v1", "Ingress", spec=spec)


def _backend(**service):
    return {"service": {"name": "web", "port": {"number": 80}, **service}}


def _path(path="/", kind="Prefix", backend=None):
    rule = {"path": path, "backend": backend or _backend()}
    return rule | ({"pathType": kind} if kind else {})


def _paths(*paths, **rule):
    return _ingress(rules=[{"http": {"paths": list(paths)}, **rule}])


def an_ingress_needs_rules_or_a_backend(s: Session):
    s.post(INGRESSES, _ingress())
    s.post(INGRESSES, _ingress(rules=[{"http": {"paths": []}}]))
    s.post(INGRESSES, _ingress(defaultBackend={}))
    s.post(INGRESSES, _ingress(defaultBackend=_backend(name="")))
    s.post(INGRESSES, _ingress(defaultBackend=_backend(name="Not_A_Name", port={})))
    s.post(INGRESSES, _ingress(defaultBackend=_backend(port={"number": 80, "name": "web"})))
    s.post(INGRESSES, _ingress(defaultBackend=_backend(port={"number": 70000})))
    s.post(INGRESSES, _ingress(defaultBackend=_backend(port={"name": "-much-too-long-for-a-port-"})))
    resource = {"apiGroup": "Bad_Group", "kind": "", "name": "a/b"}
    s.post(INGRESSES, _ingress(defaultBackend={"resource": resource}))
    s.post(INGRESSES, _ingress(defaultBackend={"resource": resource, **_backend()}))


def paths_of_an_ingress_are_checked(s: Session):
    s.post(INGRESSES, _paths(_path(kind=None)))
    s.post(INGRESSES, _paths(_path(kind="Nonsense")))
    s.post(INGRESSES, _paths(_path("relative"), _path("", "Exact"), _path("rel", "ImplementationSpecific")))
    s.post(INGRESSES, _paths(_path("//a/./b/../c%2fd%2F/.."), _path("/a/.")))


def hosts_of_an_ingress_are_checked(s: Session):
    s.post(INGRESSES, _paths(_path(), host="10.0.0.1"))
    s.post(INGRESSES, _paths(_path(), host="Not_A_Host"))
    s.post(INGRESSES, _paths(_path(), host="*.*.example.com"))
    tls = [{"hosts": ["*bad", "Bad_Host"], "secretName": "Bad_Secret"}]
    s.post(INGRESSES, _ingress(defaultBackend=_backend(), tls=tls, ingressClassName="Bad_Class"))
    both = _ingress(defaultBackend=_backend(), ingressClassName="one")
    both["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "two"}
    s.post(INGRESSES, both)


def a_changed_ingress_is_checked(s: Session):
    with s.unrecorded():
        s.post(INGRESSES, _paths(_path()))
    s.merge(f"{INGRESSES}/a", {"spec": {"rules": None}})
    s.merge(f"{INGRESSES}/a", {"spec": {"rules": [{"host": "example.com"}]}}, select=_spec)
    s.merge(
        f"{INGRESSES}/a/status",
        {"status": {"loadBalancer": {"ingress": [{"ip": "x", "hostname": "1.2.3.4"}]}}},
    )


def _spec(body):
    return body if body["kind"] == "Status" else body["spec"]


def _policy(**spec):
    return _of("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, **spec})


def a_network_policy_is_checked(s: Session):
    s.post(POLICIES, _policy(podSelector={"matchLabels": {"bad key": "bad value"}}))
    s.post(POLICIES, _policy(podSelector={"matchExpressions": [{"key": "a", "operator": "Maybe"}]}))
    s.post(POLICIES, _policy(policyTypes=["Sideways"]))
    s.post(POLICIES, _policy(policyTypes=["Ingress", "Egress", "Ingress"]))
    s.post(POLICIES, _policy(ingress=[{"from": [{}]}]))
    s.post(POLICIES, _policy(egress=[{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}]))


def ports_of_a_network_policy_are_checked(s: Session):
    def tried(**port):
        s.post(POLICIES, _policy(ingress=[{"ports": [port]}]))

    tried(protocol="CARRIER-PIGEON")
    tried(port=0)
    tried(port=80, endPort=79)
    tried(port=80, endPort=70000)
    tried(port="web", endPort=80)
    tried(port="Not A Port")
    tried(endPort=80)


def addresses_of_a_network_policy_are_checked(s: Session):
    def tried(**block):
        s.post(POLICIES, _policy(egress=[{"to": [{"ipBlock": block}]}]))

    tried()
    tried(cidr="10.0.0.1")
    tried(cidr="10.0.0.300/8")
    tried(cidr="10.0.0.0/8", **{"except": ["11.0.0.0/8", "10.0.0.0/8", "nonsense"]})
    tried(cidr="2001:db8::/32", **{"except": ["2001:db9::/40"]})


def _budget(**spec):
    return _of("policy/v1", "PodDisruptionBudget", spec=spec)


def a_disruption_budget_is_checked(s: Session):
    s.post(BUDGETS, _budget(minAvailable=-1))
    s.post(BUDGETS, _budget(maxUnavailable="101%"))
    s.post(BUDGETS, _budget(minAvailable="half"))
    s.post(BUDGETS, _budget(maxUnavailable="-5%"))
    s.post(BUDGETS, _budget(minAvailable=1, selector={"matchLabels": {"bad key": "x"}}))
    s.post(BUDGETS, _budget(minAvailable=1, unhealthyPodEvictionPolicy="Perhaps"))
    s.post(
        BUDGETS,
        _budget(minAvailable=1, maxUnavailable=1),
        select=lambda body: [body["code"], [[c["field"], c["reason"]] for c in body["details"]["causes"]]],
    )


def _hooks(kind, *hooks):
    return _of("admissionregistration.k8s.io/v1", kind, "{ns}", webhooks=list(hooks))


def _hook(**fields):
    return {
        "name": "hook.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://example.com/hook"},
        **fields,
    }


def _refused(s: Session, *hooks):
    s.post(f"{WEBHOOKS}/validatingwebhookconfigurations", _hooks("ValidatingWebhookConfiguration", *hooks))


def a_webhook_is_checked(s: Session):
    _refused(s, _hook(name="unqualified"))
    _refused(s, _hook(name=""))
    _refused(s, _hook(name="Bad_Name.example.com"))
    _refused(s, _hook(), _hook())
    _refused(s, _hook(failurePolicy="Shrug", matchPolicy="Nearly", timeoutSeconds=31))
    _refused(s, {k: v for k, v in _hook().items() if k not in ("sideEffects", "admissionReviewVersions")})
    _refused(s, _hook(sideEffects="Some", admissionReviewVersions=["v1", "v1"]))
    _refused(s, _hook(admissionReviewVersions=["v9", "Bad"]))
    _refused(s, _hook(namespaceSelector={"matchLabels": {"bad key": "x"}}, timeoutSeconds=0))
    path = f"{WEBHOOKS}/mutatingwebhookconfigurations"
    s.post(
        path, _hooks("MutatingWebhookConfiguration", _hook(reinvocationPolicy="Often", sideEffects="Unknown"))
    )


def the_target_of_a_webhook_is_checked(s: Session):
    def tried(**client):
        _refused(s, _hook(clientConfig=client))

    tried()
    tried(url="https://a", service={"name": "a", "namespace": "b"})
    tried(url="http://example.com")
    tried(url="https://user:secret@example.com/?q#f")
    tried(url="https:///path")
    tried(url="%gh&%ij")
    tried(service={"name": "", "namespace": "", "path": "relative"})
    tried(service={"name": "a", "namespace": "b", "path": "//", "port": 70000})
    tried(service={"name": "a", "namespace": "b", "path": "/a/b c/"})


def the_rules_of_a_webhook_are_checked(s: Session):
    def tried(**rule):
        whole = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        _refused(s, _hook(rules=[{**whole, **rule}]))

    tried(operations=[])
    tried(operations=["*", "DANCE"])
    tried(apiGroups=[], apiVersions=[], resources=[])
    tried(apiGroups=["*", "a"], apiVersions=["*", ""], scope="Nowhere")
    tried(resources=["*/*", "pods"])
    tried(resources=["*", "pods"])
    tried(resources=["pods/*", "pods/log", ""])
    tried(resources=["*/scale", "a/scale"])


def match_conditions_of_a_webhook_are_checked(s: Session):
    _refused(s, _hook(matchConditions=[{"name": "", "expression": ""}]))
    _refused(s, _hook(matchConditions=[{"name": "Bad Name", "expression": "true"}]))
    twice = [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]
    _refused(s, _hook(matchConditions=twice))


def _service(**spec):
    ports = [{"name": "web", "port": 80}, {"name": "more", "port": 81}]
    return _of("v1", "Service", spec={"ports": ports, "selector": {"a": "b"}, **spec})


def _dependent(body):
    """Fields of a Service that depend on its type."""
    if body["kind"] == "Status":
        return body
    names = (
        "type", "externalTrafficPolicy", "internalTrafficPolicy", "healthCheckNodePort", "externalName",
        "allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges",
        "ipFamilyPolicy", "ipFamilies",
    )  # fmt: skip
    spec = body["spec"]
    shown = {name: spec[name] for name in names if name in spec} | {"hasAddress": bool(spec.get("clusterIP"))}
    return [shown, ["nodePort" in port for port in spec.get("ports", ())], sorted(spec)]


def a_service_that_is_no_longer_external_loses_its_external_fields(s: Session):
    """D5: NodePort and LoadBalancer to ClusterIP."""
    with s.unrecorded():
        s.post(SERVICES, _service(type="NodePort"))
    s.merge(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}}, select=_dependent)
    s.merge(f"{SERVICES}/a", {"spec": {"type": "LoadBalancer"}}, select=_dependent)
    s.merge(f"{SERVICES}/a", {"spec": {"externalTrafficPolicy": "Local"}}, select=_dependent)
    s.merge(f"{SERVICES}/a", {"spec": {"externalTrafficPolicy": "Cluster"}}, select=_dependent)
    s.merge(f"{SERVICES}/a", {"spec": {"externalTrafficPolicy": "Local"}}, select=_dependent)
    s.merge(f"{SERVICES}/a", {"spec": {"type": "NodePort"}}, select=_dependent)
    s.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}}, STRATEGIC, select=_dependent)
    s.merge(
        f"{SERVICES}/a",
        {
            "spec": {
                "type": "LoadBalancer",
                "loadBalancerClass": "example.com/one",
                "loadBalancerIP": "1.2.3.4",
            }
        },
        select=_dependent,
    )
    s.merge(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}}, select=_dependent)
    s.merge(
        f"{SERVICES}/a", {"spec": {"type": "ExternalName", "externalName": "example.com"}}, select=_dependent
    )
    s.merge(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}}, select=_dependent)


def a_service_of_one_type_has_no_fields_of_another(s: Session):
    s.post(SERVICES, _service(externalTrafficPolicy="Local"), select=_dependent)
    s.post(SERVICES, _service(ports=[{"port": 80, "nodePort": 30123}]), select=_dependent)
    s.post(SERVICES, _service(loadBalancerClass="example.com/one"), select=_dependent)
    s.post(SERVICES, _service(allocateLoadBalancerNodePorts=True), select=_dependent)
    s.post(SERVICES, _service(type="NodePort", ports=[{"port": 80, "nodePort": 80}]), select=_dependent)
    s.post(SERVICES, _service(type="LoadBalancer", externalTrafficPolicy="Sometimes"), select=_dependent)
    s.post(SERVICES, _service(internalTrafficPolicy="Sometimes"), select=_dependent)
