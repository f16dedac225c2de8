select what, checksum
  from holdfast.installed
