"""Holdfast as a Django app: `INSTALLED_APPS = [..., "holdfast.contrib.django"]` and `manage.py holdfast worker`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.contrib.django.backend import HoldfastBackend

__all__ = ["HoldfastBackend"]

if not TYPE_CHECKING:  # Django imports this package before its settings can be asked for anything

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'holdfast.contrib.django' has no attribute {name!r}")
        from holdfast.contrib.django.backend import HoldfastBackend  # noqa: PLC0415 - see above

        return HoldfastBackend
