"""A shop's one table."""

from django.db import models


class Order(models.Model):  # type: ignore[misc] # Django says nothing about its types
    """What somebody bought."""

    note = models.TextField(default="")

    class Meta:
        """Where it is."""

        app_label = "shop"

    def __str__(self) -> str:
        return f"order {self.id}: {self.note}"
