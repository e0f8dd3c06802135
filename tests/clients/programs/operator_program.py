"""A kopf operator: it writes every change of a Greeting to its status, and logs its deletion."""

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: object) -> None:
    settings.persistence.finalizer = "greetings.example.com/kopf"
    settings.watching.server_timeout = 60


@kopf.on.create("greetings.example.com", "v1", "greetings")
@kopf.on.update("greetings.example.com", "v1", "greetings")
def answer(spec: kopf.Spec, body: kopf.Body, patch: kopf.Patch, **_: object) -> None:
    patch.status["answer"] = f"hello {spec['name']}"
    kopf.info(body, reason="Answered", message="hello")


@kopf.on.delete("greetings.example.com", "v1", "greetings")
def goodbye(spec: kopf.Spec, logger: kopf.Logger, **_: object) -> None:
    logger.info("goodbye %s", spec["name"])
