# The one node of a cluster: its bridge, cgroups, containerd, images, kubelet and kube-proxy, and how they are cleared up.
# Sourced by `cluster`.
# shellcheck shell=bash disable=SC2154

cgroup=jangar-cluster
socket=$state/containerd.sock
pause=jangar.local/pause:1
own_ctr() { timeout 20 ctr -a "$socket" -n k8s.io "$@"; }

# The bridge is also the lock: its alias names the state directory of the one cluster that may use it.
owns_bridge() { [ "$(cat /sys/class/net/$bridge/ifalias 2> /dev/null)" = "$state" ]; }
take_bridge() {
  if ip link add $bridge type bridge 2> /dev/null; then
    ip link set dev $bridge alias "$state"
    ip addr add $node/24 dev $bridge
    ip link set $bridge up
  elif ! owns_bridge; then
    fail "a cluster of $(cat /sys/class/net/$bridge/ifalias) runs on this machine; stop it first"
  fi
}

start_containerd() {
  mkdir -p "$state/cni"
  cat > "$state/cni/10-jangar.conflist" << END
{"cniVersion": "0.4.0", "name": "jangar", "plugins": [{"type": "bridge", "bridge": "$bridge", "isGateway": true, "ipam":
  {"type": "host-local", "dataDir": "$state/cni-addresses", "ranges": [[{"subnet": "$subnet"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
  # restrict_oom_score_adj: a machine that is itself a container may lack CAP_SYS_RESOURCE, and every sandbox would fail.
  cat > "$state/containerd.toml" << END
version = 2
root = "$state/containerd"
state = "$state/containerd-state"
[grpc]
  address = "$socket"
[plugins."io.containerd.internal.v1.opt"]
  path = "$state/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "$state/runc"
END
  run containerd containerd --config "$state/containerd.toml"
}

import_images() {
  local applets
  mapfile -t applets < <(busybox --list | sed 's#^busybox$##; /^$/d; s#.*#bin/&=->busybox#')
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' > "$state/passwd"
  "$here/write-image" docker.io/library/busybox:1.37 "$state/busybox.tar" /bin/sh -- \
    "bin/busybox=$(command -v busybox)" "${applets[@]}" tmp=DIR "etc/passwd=$state/passwd"
  # A sandbox needs a process that stays; containerd ends it with KILL.
  "$here/write-image" $pause "$state/pause.tar" /sleep 2147483647 -- "sleep=$(command -v busybox)"
  await "that containerd answers" containerd own_ctr version
  local each
  for each in busybox pause; do own_ctr images import "$state/$each.tar" > /dev/null; done
}

start_node() {
  make_cgroups
  cat > "$state/kubelet.yaml" << END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node
healthzPort: 0
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
containerRuntimeEndpoint: unix://$socket
podLogsDir: $state/pod-logs
volumePluginDir: $state/volume-plugins
registerWithTaints: []
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $state/ca.crt}}
authorization: {mode: Webhook}
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
END
  run kubelet "$bin/kubelet" --config "$state/kubelet.yaml" --kubeconfig "$state/kubelet.kubeconfig" --root-dir "$state/kubelet" \
    --cert-dir "$state/kubelet-certificates" --hostname-override node1 --node-ip $node
  run kube-proxy "$bin/kube-proxy" --kubeconfig "$state/kube-proxy.kubeconfig" --hostname-override node1 --proxy-mode iptables \
    --cluster-cidr $subnet --healthz-bind-address $node:10256 --metrics-bind-address $node:10249 --conntrack-max-per-core 0
  await "that the node is ready" kubelet kubectl wait --for=condition=Ready node/node1 --timeout=1s
  await "the default service account" kube-controller-manager kubectl get serviceaccount default
}

# Its own root: the kubelet ends what it does not know below its root, and other clusters may use the default one.
cgroup_roots() { # each mounted hierarchy, or the one of version 2
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo /sys/fs/cgroup; return; fi
  local each
  for each in /sys/fs/cgroup/*/; do [ -f "${each}cgroup.procs" ] && echo "${each%/}"; done
}
make_cgroups() {
  local root file
  while read -r root; do
    mkdir -p "$root/$cgroup"
    for file in cpuset.cpus cpuset.mems; do # version 1 leaves them empty, and nothing may run then
      if [ -f "$root/$file" ] && [ -z "$(cat "$root/$cgroup/$file")" ]; then cat "$root/$file" > "$root/$cgroup/$file"; fi
    done
  done < <(cgroup_roots)
}
remove_cgroups() {
  local root
  while read -r root; do
    [ ! -d "$root/$cgroup" ] || find "$root/$cgroup" -depth -type d -exec rmdir {} + 2> /dev/null || true
  done < <(cgroup_roots)
}

end_containers() {
  [ -S "$socket" ] && pid_of containerd > /dev/null || return 0
  local task
  for task in $(own_ctr tasks ls -q 2> /dev/null); do own_ctr tasks rm -f "$task" > /dev/null 2>&1 || true; done
}
end_shims() { # they outlive containerd; each names our socket as a whole argument
  local each
  for each in /proc/[0-9]*; do
    if { tr '\0' '\n' < "$each/cmdline"; } 2> /dev/null | grep -qxF -- "$socket"; then kill -KILL "${each#/proc/}" 2> /dev/null || true; fi
  done
}
unmount_all() {
  local path
  for _ in 1 2 3; do
    while read -r path; do umount -l "$path" 2> /dev/null || true; done \
      < <(awk -v under="$state/" 'index($5, under) == 1 {print $5}' /proc/self/mountinfo | sort -r)
  done
}
remove_traces() { # what kubelet and the network plugins write outside and leave there
  local chain each id
  for chain in INPUT OUTPUT; do iptables -w -D $chain -j KUBE-FIREWALL 2> /dev/null || true; done
  { iptables -w -F KUBE-FIREWALL && iptables -w -X KUBE-FIREWALL; } 2> /dev/null || true
  for each in /var/log/containers/*.log; do
    case $(readlink "$each") in "$state"/*) rm -f "$each" ;; esac
  done
  for each in /var/lib/cni/results/jangar-*; do
    id=$(basename "$each"); id=${id#jangar-}; id=${id%-*}
    rm -f "/var/lib/cni/results/"*"-$id-"*
  done
}
