"""The scripts, and the folders that serve them; nothing else uses Hydra.

| script                                                | folder                             |
| ----------------------------------------------------- | ---------------------------------- |
| `build_dataset`, `inspect_dataset`                    | `dataset`                          |
| `train_model`, `report_sweep`                         | `training`, `sweeping`             |
| `reinforce_policy`                                    | `reinforcing`                      |
| `report_zero`                                         | `zero`                             |
| `evaluate_model`, `evaluate_rollouts`                 | `evaluating`                       |
| `export_model`                                        | `exporting`                        |
| `play_gtp`                                            | `engine`                           |
| `play_match`                                          | `matches`                          |
| `analyze_game`                                        | `analysing`                        |
| `estimate_rank`                                       | `ranking`                          |
| `generate_positions`                                  | `selfplay`                         |
| `train_zero`                                          | `zero`                             |
| `measure_speed`                                       | `speed`                            |
| `estimate_owners`, `run_demo`                         |                                    |

`shell` is what all scripts share: how they start, their command line, options, messages, tables.
`drawing` makes every chart and board. No module imports a script.
"""
