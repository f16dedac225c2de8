"""The host's own addresses, in Django."""

from django.http import HttpRequest, HttpResponse
from django.urls import path


async def hello(_request: HttpRequest) -> HttpResponse:
    """Answer something."""
    return HttpResponse("hello")


urlpatterns = [path("hello", hello)]
