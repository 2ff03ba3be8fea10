"""Bytes to values and back: the group coordinator's log, its embedded blobs, and Connect's internal topics.

Pure and standard library only. Nothing raises out of the `decode_…` functions: they answer with `outcomes.Outcome`.
"""
