"""YAML configuration: one root file for each script in `pipelines/`.

It is a package, so that Hydra finds it from any folder.
"""
