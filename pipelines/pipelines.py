"""What `import pipelines` finds first in a script that runs as a file.

`python pipelines/train_model.py` puts the folder of the scripts at the beginning of the path, and
not the project: the packages `data`, `models`, `mcts` and `pipelines` are not found unless the
project is installed. But this file is found under the name of the package. It puts the project in
the place of its own folder and lets the package take its place. Nobody else imports it:

| started as                                   | `import pipelines` finds             |
| -------------------------------------------- | ------------------------------------ |
| `python pipelines/x.py`, from any folder     | this file, then the package          |
| `python -m pipelines.x`, a test, a notebook  | the package                          |
| `lambdago-x`, of an installation             | the package, `lambdago.pipelines`    |
| jobs of joblib, submitit, workers of loaders | the package, by `PYTHONPATH`         |

With `python -P`, which keeps the folder of a script off the path, the project has to be installed.

So the first import of each script is one of `pipelines`. As a side effect no script can hide a
module of the standard library or a package by having its name.
"""

import importlib
import sys
from pathlib import Path

if __name__ == "pipelines":
    HERE = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    sys.path.insert(0, str(HERE.parent))
    del sys.modules["pipelines"]
    importlib.import_module("pipelines")
