# etcd, the API server, the controllers and the scheduler of a cluster, and the certificates and tokens among them.
# Sourced by `cluster`. Each component is the user that Kubernetes' own bootstrap roles are made for.
# shellcheck shell=bash disable=SC2154

users=(admin kubelet kube-controller-manager kube-scheduler kube-proxy)

certificates() {
  local key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes) user token
  [ ! -f "$state/ca.crt" ] || return 0
  (
    cd "$state"
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out accounts.key
    openssl pkey -in accounts.key -pubout -out accounts.pub
    openssl req -x509 "${key[@]}" -keyout ca.key -out ca.crt -subj /CN=jangar-cluster -days 30
    sign serving /CN=kube-apiserver "subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:$node,IP:$first_service"
    sign kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client extendedKeyUsage=clientAuth
  ) 2> "$state/openssl.log"
  for user in "${users[@]}"; do
    token=$(openssl rand -hex 24)
    case $user in
      admin) echo "$token,admin,admin,\"system:masters\"" ;;
      kubelet) echo "$token,system:node:node1,node1,\"system:nodes\"" ;;
      *) echo "$token,system:$user,$user" ;;
    esac >> "$state/tokens.csv"
    kubeconfig "$user" "$token"
  done
}
sign() {
  openssl req "${key[@]}" -keyout "$1.key" -out "$1.csr" -subj "$2"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile <(echo "$3") -out "$1.crt"
}
kubeconfig() {
  cat > "$state/$1.kubeconfig" << END
apiVersion: v1
kind: Config
clusters: [{name: jangar, cluster: {server: "https://$node:6443", certificate-authority-data: $(base64 -w0 "$state/ca.crt")}}]
users: [{name: $1, user: {token: $2}}]
contexts: [{name: jangar, context: {cluster: jangar, user: $1}}]
current-context: jangar
END
}

start_control_plane() {
  local etcd=http://$node:2379 peer=http://$node:2380
  run etcd "$bin/etcd" --data-dir "$state/etcd" --listen-client-urls $etcd --advertise-client-urls $etcd --log-level warn \
    --listen-peer-urls $peer --initial-advertise-peer-urls $peer --initial-cluster default=$peer --unsafe-no-fsync
  run kube-apiserver "$bin/kube-apiserver" --etcd-servers $etcd --secure-port 6443 --bind-address $node --advertise-address $node \
    --service-cluster-ip-range $services --tls-cert-file "$state/serving.crt" --tls-private-key-file "$state/serving.key" \
    --client-ca-file "$state/ca.crt" --token-auth-file "$state/tokens.csv" --authorization-mode Node,RBAC \
    --enable-admission-plugins NodeRestriction --service-account-issuer https://kubernetes.default.svc \
    --service-account-signing-key-file "$state/accounts.key" --service-account-key-file "$state/accounts.pub" --allow-privileged=true \
    --kubelet-client-certificate "$state/kubelet-client.crt" --kubelet-client-key "$state/kubelet-client.key" \
    --kubelet-preferred-address-types InternalIP --profiling=false
  await "that the API server is ready" kube-apiserver kubectl get --raw /readyz
  run kube-controller-manager "$bin/kube-controller-manager" --kubeconfig "$state/kube-controller-manager.kubeconfig" \
    --use-service-account-credentials=true --service-account-private-key-file "$state/accounts.key" --root-ca-file "$state/ca.crt" \
    --leader-elect=false --bind-address $node --profiling=false
  run kube-scheduler "$bin/kube-scheduler" --kubeconfig "$state/kube-scheduler.kubeconfig" --leader-elect=false --bind-address $node
}
