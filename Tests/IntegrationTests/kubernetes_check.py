"""Checks Kubernetes manifests without a cluster: kubernetes_check.py FOLDER COMPOSE HELP

FOLDER has the overlay `production`, which `kubectl kustomize` builds, and a README.md that creates the secrets. COMPOSE is the
folder `compose`, and HELP has a file for each executable with what its `--help` prints. Prints one line for each problem and
ends with 1 if there is any.
"""

import pathlib
import re
import subprocess
import sys

import kubernetes_validate
import yaml

VERSION = "1.37.0"
folder, compose, helps = (pathlib.Path(argument) for argument in sys.argv[1:])
problems = []


class Loader(yaml.SafeLoader):
    """Refuses a key that occurs twice. PyYAML and kubectl take the last one."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for key in {key for key in keys if keys.count(key) > 1}:
            if node not in self.merged:
                raise yaml.YAMLError(f"{node.start_mark}: {key} occurs twice")
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node):
        # Merged keys come first, and those of the mapping itself replace them.
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            self.merged.append(node)
        super().flatten_mapping(node)

    def __init__(self, stream):
        super().__init__(stream)
        self.merged = []


def read():
    """All objects of the overlay by kind and name."""
    for path in folder.rglob("*.yaml"):
        try:
            list(yaml.load_all(path.read_text(), Loader))
        except yaml.YAMLError as error:
            sys.exit(f"{path.name}: {error}")
    overlay = subprocess.run(["kubectl", "kustomize", folder / "overlays/production"], capture_output=True, text=True)
    if overlay.returncode:
        sys.exit(f"kubectl kustomize: {overlay.stderr}")
    objects = {}
    # kubectl replaces a List by its items.
    for item in yaml.safe_load_all(overlay.stdout):
        key = (item["kind"], item["metadata"]["name"])
        objects[key] = item
        # A type of the Prometheus Operator, which has no schema here: check_monitor.
        if item["kind"] == "PodMonitor":
            continue
        try:
            kubernetes_validate.validate(item, VERSION, strict=True)
        except Exception as error:  # each kind of error names the field
            problems.append(f"{key}: {error}".splitlines()[0])
    return objects


objects = read()


def problem(item, text):
    problems.append(f"{item['kind']} {item['metadata']['name']}: {text}")


def names(kind):
    return {name for other, name in objects if other == kind}


def of(*kinds):
    return [item for (kind, _), item in objects.items() if kind in kinds]


def need(item, kind, name):
    if name not in names(kind):
        problem(item, f"no {kind} {name}")


workloads = of("Deployment", "StatefulSet")


def matches(selector, labels):
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for rule in selector.get("matchExpressions", []):
        if (labels.get(rule["key"]) in rule["values"]) != (rule["operator"] == "In"):
            return False
    return True


def selected(selector):
    return [work for work in workloads if matches(selector, work["spec"]["template"]["metadata"]["labels"])]


def ports(work):
    return {p["name"]: p["containerPort"] for c in work["spec"]["template"]["spec"]["containers"] for p in c["ports"]}


def need_port(item, works, port):
    for work in works:
        if port not in ports(work) and port not in ports(work).values():
            problem(item, f"{work['metadata']['name']} has no port {port}")


readme = (folder / "README.md").read_text()


def need_secret(item, name, keys):
    """The README has to create it: `secret generic NAME --from-file=KEY=…`, in a loop over `$service` for several."""
    command = None
    for kind, created, rest in re.findall(r"create secret (generic|tls) (\S+)((?:[^\n]*\\\n)*[^\n]*)", readme):
        loop = re.search(r"for service in ([^;]*);", readme).group(1).split()
        if created == name or (created == "$service" and name in loop):
            command = {"tls.crt", "tls.key"} if kind == "tls" else set(re.findall(r"--from-\w+=([\w.-]+)=", rest))
    if command is None:
        problem(item, f"README.md creates no Secret {name}")
    for key in keys - (command or keys):
        problem(item, f"README.md gives the Secret {name} no key {key}")


def check_configuration(item, name, key=None):
    need(item, "ConfigMap", name)
    if key and key not in objects.get(("ConfigMap", name), {}).get("data", {}):
        problem(item, f"ConfigMap {name} has no key {key}")


def check_settings(item, container, labels):
    """Each variable and flag is one of the executable's, and each $(VARIABLE) is defined before it is used."""
    defined, used, settings = {}, set(), {}
    for source in container.get("envFrom", []):
        settings |= objects.get(("ConfigMap", source["configMapRef"]["name"]), {}).get("data", {})
    for entry in container.get("env", []):
        value = entry.get("value", "")
        for variable in re.findall(r"\$\(([^)]*)\)", value):
            used.add(variable)
            if variable not in defined:
                problem(item, f"{entry['name']} uses {variable}, which is not defined before")
        field = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
        defined[entry["name"]] = labels.get(field.removeprefix("metadata.labels['").removesuffix("']"), value)
    arguments = []
    for argument in container["args"]:
        for variable in re.findall(r"\$\(([^)]*)\)", argument):
            used.add(variable)
            if variable not in defined:
                problem(item, f"an argument uses {variable}, which is not defined")
            argument = argument.replace(f"$({variable})", defined.get(variable, ""))
        arguments.append(argument)
    if item["metadata"]["name"] == "broker":
        return
    if arguments[0] == "haproxy":
        check_proxy(item, compose.parent / arguments[-1], defined)
        return
    if not (helps / arguments[0]).is_file():
        problem(item, f"no executable {arguments[0]}")
        return
    text = (helps / arguments[0]).read_text()
    for name in (set(defined) - used) | set(settings):
        if not re.search(rf"\b{name}\b", text):
            problem(item, f"{arguments[0]} has no setting {name}")
    for flag in (argument for argument in arguments[1:] if argument.startswith("-")):
        if not re.search(rf"{flag}\b", text):
            problem(item, f"{arguments[0]} has no flag {flag}")


def check_proxy(item, path, defined):
    """Its variables are those of HAProxy's file, and its brokers are Services."""
    text = path.read_text() if path.is_file() else ""
    for name in set(defined) ^ set(re.findall(r"\$\{(\w+)", text)):
        # An account for root, and a broker elsewhere than on loopback.
        if name not in {"PROXY_ACCOUNT", "BROKER_HOST"}:
            problem(item, f"{path.name} and the manifest do not both have {name}")
    for name in defined.keys() & {"FIRST_HOST", "SECOND_HOST"}:
        need(item, "Service", defined[name])


def check_workload(item):
    spec, template = item["spec"], item["spec"]["template"]
    labels, pod = template["metadata"]["labels"], template["spec"]
    if not matches(spec["selector"], labels):
        problem(item, "its selector does not match its labels")
    if selected(spec["selector"]) != [item]:
        problem(item, "its selector matches other pods")
    need(item, "ServiceAccount", pod.get("serviceAccountName"))
    if pod.get("automountServiceAccountToken") is not False:
        problem(item, "it has a token")
    user = pod.get("securityContext", {})
    if (
        not user.get("runAsNonRoot")
        or not user.get("runAsUser")
        or not user.get("fsGroup")
        or (user.get("seccompProfile") != {"type": "RuntimeDefault"})
    ):
        problem(item, "it does not run as an account of its own")
    if pod.get("terminationGracePeriodSeconds") != 30:
        problem(item, "terminationGracePeriodSeconds is not 30")
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    volumes |= {claim["metadata"]["name"]: claim for claim in spec.get("volumeClaimTemplates", [])}
    for volume in volumes.values():
        if "secret" in volume:
            secret = volume["secret"]
            if secret.get("defaultMode") != 0o440:
                problem(item, f"secret {secret['secretName']} has not mode 0440")
        for source in volume.get("projected", {}).get("sources", []):
            if volume["projected"].get("defaultMode") != 0o440:
                problem(item, f"volume {volume['name']} has not mode 0440")
            name = source["secret"]["name"]
            need_secret(item, name, {"access.conf"} if name == "broker-accounts" else set())
        if "configMap" in volume:
            check_configuration(item, volume["configMap"]["name"])
        if "persistentVolumeClaim" in volume:
            need(item, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
    mounted = set()
    for container in pod["containers"]:
        check_container(item, container, labels)
        for mount in container.get("volumeMounts", []):
            mounted.add(mount["name"])
            if mount["name"] not in volumes:
                problem(item, f"no volume {mount['name']}")
            elif "secret" in volumes[mount["name"]]:
                check_secret(item, volumes[mount["name"]]["secret"], mount["mountPath"], container)
    for name in set(volumes) - mounted:
        problem(item, f"volume {name} is not mounted")


def check_secret(item, secret, path, container):
    """Its keys are the files below its folder that the settings and arguments name."""
    settings = [entry.get("value", "") for entry in container.get("env", [])] + container["args"]
    for source in container.get("envFrom", []):
        settings += objects.get(("ConfigMap", source["configMapRef"]["name"]), {}).get("data", {}).values()
    keys = {key for text in settings for key in re.findall(rf"{path}/([\w.-]+)", str(text))}
    if not keys:
        problem(item, f"nothing reads {path}")
    if "items" in secret:
        files = {entry["path"]: entry["key"] for entry in secret["items"]}
        for key in keys - set(files):
            problem(item, f"no file {path}/{key}")
        keys = set(files.values())
    need_secret(item, secret["secretName"], keys)


def check_container(item, container, labels):
    image = re.search(r"^ *image: (\S+)$", (compose / "compose.yaml").read_text(), re.M).group(1)
    if not re.fullmatch(rf"registry\.example\.org/{image}:1", container["image"]):
        problem(item, f"image {container['image']} is not that of the Dockerfile")
    rights = container.get("securityContext", {})
    if (
        rights.get("readOnlyRootFilesystem") is not True
        or rights.get("allowPrivilegeEscalation") is not False
        or (rights.get("capabilities") != {"drop": ["ALL"]})
    ):
        problem(item, "it has more rights than it needs")
    resources = container.get("resources", {})
    if set(resources.get("requests", {})) != {"cpu", "memory"} or "memory" not in resources.get("limits", {}):
        problem(item, "it has no limits")
    for probe, path in ("readinessProbe", "/readyz"), ("livenessProbe", "/livez"), ("startupProbe", "/livez"):
        action = container.get(probe, {})
        if not action and probe != "startupProbe":
            problem(item, f"no {probe}")
        for kind in action.keys() & {"httpGet", "tcpSocket"}:
            need_port(item, [item], action[kind]["port"])
            if action[kind].get("path", path) != path:
                problem(item, f"{probe} is not {path}")
    # A process that hangs cannot drain, so Kubernetes kills it at once.
    life = container.get("livenessProbe", {})
    if (life.get("timeoutSeconds"), life.get("terminationGracePeriodSeconds")) != (3, 1):
        problem(item, "its livenessProbe needs timeoutSeconds: 3 and terminationGracePeriodSeconds: 1")
    for source in container.get("envFrom", []):
        check_configuration(item, source["configMapRef"]["name"])
    for entry in container.get("env", []):
        if reference := entry.get("valueFrom", {}).get("secretKeyRef"):
            need_secret(item, reference["name"], {reference["key"]})
    check_settings(item, container, labels)


def check_rules(item):
    """A network policy: selectors match pods, and ports are those of the pods that it protects or leads to."""
    spec = item["spec"]
    mine = selected(spec["podSelector"])
    if not mine:
        problem(item, "its selector matches no pod")
    for direction, side in ("ingress", "from"), ("egress", "to"):
        for rule in spec.get(direction, []):
            peers = [peer["podSelector"] for peer in rule.get(side, []) if "podSelector" in peer]
            others = [work for peer in peers for work in selected(peer)]
            if peers and not others:
                problem(item, f"{side}: its selector matches no pod")
            for port in rule.get("ports", []):
                if direction == "ingress":
                    need_port(item, mine, port["port"])
                elif peers:
                    need_port(item, others, port["port"])


def check_monitor(item):
    """Prometheus scrapes the metrics of each container that has some."""
    works, scraped = selected(item["spec"]["selector"]), {end["port"] for end in item["spec"]["podMetricsEndpoints"]}
    offered = {work["metadata"]["name"]: {name for name in ports(work) if "health" in name} for work in works}
    if scraped != set().union(*offered.values()):
        problem(item, f"the pods have other ports than {sorted(scraped)}")
    for end in item["spec"]["podMetricsEndpoints"]:
        # The operator's own job would be pacebus/pacebus, and the alerts name another.
        if {"targetLabel": "job", "replacement": "pacebus"} not in end["relabelings"]:
            problem(item, f"the targets of {end['port']} are not of the job pacebus")
    for name in names("Deployment") - {name for name, found in offered.items() if found}:
        problem(item, f"it does not scrape {name}")


for item in objects.values():
    if item["kind"] != "Namespace":
        need(item, "Namespace", item["metadata"].get("namespace"))
for item in workloads:
    check_workload(item)
pods = {}
for item in of("StatefulSet"):
    need(item, "Service", item["spec"]["serviceName"])
    for number in range(item["spec"]["replicas"]):
        pods[f"{item['metadata']['name']}-{number}"] = item
for pod in pods:
    need(pods[pod], "Service", pod)
for item in of("Service"):
    pod = item["spec"]["selector"].get("statefulset.kubernetes.io/pod-name")
    works = [pods[pod]] if pod in pods else selected({"matchLabels": item["spec"]["selector"]})
    if not works:
        problem(item, "its selector matches no pod")
    for port in item["spec"]["ports"]:
        need_port(item, works, port["targetPort"])
for item in of("PodDisruptionBudget"):
    if not selected(item["spec"]["selector"]):
        problem(item, "its selector matches no pod")
for item in of("NetworkPolicy"):
    check_rules(item)
for item in of("PodMonitor"):
    check_monitor(item)

# What the parts of compose say.
everything = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
if everything not in [item["spec"] for item in of("NetworkPolicy")]:
    problems.append("no NetworkPolicy refuses everything else")
services = re.findall(r"mqtt://_(.*)@broker:1883", (compose / "compose.yaml").read_text())
if names("Deployment") != {*services, "proxy"}:
    problems.append(f"Deployments {sorted(names('Deployment'))}, services of compose.yaml {sorted(services)}")
scalable = set(re.search(r"^scalable=\((.*)\)$", (compose / "state.sh").read_text(), re.M).group(1).split())
# Of this one process works: more of them take no load.
standing_by = {"weather-fetcher"}
scalable -= standing_by
# Services without a store have no shards.
stored = set(re.findall(r"sqlite:/data/(.*)\.sqlite", (compose / "compose.yaml").read_text()))
scaled = set()
for item in of("HorizontalPodAutoscaler"):
    target = item["spec"]["scaleTargetRef"]
    need(item, target["kind"], target["name"])
    scaled.add(target["name"])
    for metric in (metric for metric in item["spec"]["metrics"] if metric["type"] == "Pods"):
        name = metric["pods"]["metric"]["name"]
        sources = (compose / "../Shared/ServiceKit/Lifecycle").resolve().glob("*.swift")
        if not any(f'"{name}"' in source.read_text() for source in sources):
            problem(item, f"no service has the metric {name}")
if scaled != scalable:
    problems.append(f"autoscaled {sorted(scaled)}, scalable {sorted(scalable)}")
for item in of("Deployment"):
    spec, name = item["spec"], item["metadata"]["name"]
    is_automatic = spec["template"]["spec"]["containers"][0]["args"][1:] == ["--shards", "auto"]
    rolls = spec["strategy"].get("rollingUpdate") == {"maxSurge": 1, "maxUnavailable": 0}
    if is_automatic != (name in stored & (scalable | standing_by)):
        problem(item, "a service has --shards auto if it has a store and replicas")
    if name in scalable and (not rolls or "replicas" in spec):
        problem(item, "a service with replicas rolls, and leaves their number to the autoscaler")
    if name in standing_by and (not rolls or spec.get("replicas") != 2):
        problem(item, "a service with a standby rolls, and has two replicas")
    if name in set(services) - scalable - standing_by and spec.get("replicas") != 1:
        problem(item, "a service without replicas has one")
    for volume in spec["template"]["spec"].get("volumes", []):
        claim = volume.get("persistentVolumeClaim")
        if claim and spec.get("replicas") != 1 and ("PersistentVolumeClaim", claim["claimName"]) in objects:
            modes = objects["PersistentVolumeClaim", claim["claimName"]]["spec"]["accessModes"]
            if modes != ["ReadWriteMany"]:
                problem(item, f"replicas share {claim['claimName']}, which has {modes}")
if {name for _, name in objects if _ == "PodDisruptionBudget"} != scalable | standing_by | {"broker"}:
    problems.append("a PodDisruptionBudget is for what has several replicas")

print("\n".join(problems))
sys.exit(1 if problems else 0)
