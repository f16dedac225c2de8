"""Where workers and their child processes find the app of a Django project; a child sets Django up by importing this."""

import django
from django.apps import apps

from holdfast.runtime.child import inside_child

if not apps.models_ready:  # from then on AppConfig.ready may import this
    django.setup()

from holdfast.contrib.django.options import use_what_the_worker_uses
from holdfast.contrib.django.project import discover_tasks, project_app

app = project_app()

if inside_child():
    use_what_the_worker_uses()
    discover_tasks()
