"""YAML configuration, one root file for each script in `pipelines/`. A package, so that Hydra finds it from any folder."""
