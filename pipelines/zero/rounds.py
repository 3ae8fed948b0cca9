"""`Rounds`: the loop of learning from nothing. Games, memory, learning, a new net, and again.

    rounds = Rounds(options, folder, parts, say)
    rounds.begin()          or rounds.go_on(), from the checkpoint
    rounds.run()

Everything that a round does follows from the options and from the rounds before. So a run that was
killed goes on as if it had never stopped.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from data.base import interrupts
from data.base.errors import Mistake, first_line
from data.build import executors
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import PlayedGame
from mcts.selfplay.memory.memory import Memory
from mcts.selfplay.trees.tree_games import Thinking
from pipelines.zero.calibration import even_planes, some_planes
from pipelines.zero.folder import RunFolder
from pipelines.zero.games.gather import Gatherer, read_round
from pipelines.zero.games.orders import NO_NET, Order, read_order, write_order
from pipelines.zero.games.resign import NOBODY, first_turns, played_on, resignations, threshold
from pipelines.zero.games.tally import tally
from pipelines.zero.games.tasks import Player, PlayoutPlayer
from pipelines.zero.options import RANDOM, ZeroError, ZeroOptions
from pipelines.zero.report import RoundReport
from pipelines.zero.state import RunState, without_rounds

if TYPE_CHECKING:
    from pipelines.zero.nets import RoundNet

LOSSES_EVERY = 20  # steps after which losses are told
WARM_TURNS = 30 / 19**2  # turns for each point of the board, as on 19x19
REPORTED = {each.name for each in fields(RoundReport)}


@dataclass(frozen=True)
class Parts:
    """Who does what in a run."""

    memory: Memory
    learner: Any  # RoundLearner
    nets: Any  # ExportedNets
    strength: Any  # Strength
    teller: Any  # Teller
    cores: int  # of this machine that the run uses, for the time that it takes
    threads: int  # of learning


class Rounds:
    def __init__(
        self, options: ZeroOptions, folder: RunFolder, parts: Parts, say: Callable[[str], None]
    ):
        self.options, self.folder, self.parts, self.say = options, folder, parts, say
        self.state = RunState()
        self.orders: dict[int, Order] = {}  # that were handed out
        self.played_by: dict[int, int] = {}  # nets by rounds, as far as orders were read for them
        self.gatherer = Gatherer(folder, options.executor, say, parts.teller.playing)

    # --- begin, go on, end

    def begin(self) -> None:
        """Begin with the first round. Parts of its games may be there already."""
        self.parts.teller.resume_at(-1)
        if self.options.first == RANDOM:
            if not self.folder.order(0).exists():  # else games are played by it already
                self.export(0, some_planes(self.parts.memory, self.options))
            self.state.net = 0

    def go_on(self) -> None:
        """Go on from the checkpoint. Raises `Mistake` for one that does not fit."""
        path = self.folder.checkpoint
        extra = self.parts.learner.load(path)
        try:
            self.state = RunState.of_plain(extra.get("state") or {})
            remembered = without_rounds(extra.get("memory") or {}, self.lost)
            self.parts.memory.restore(remembered, self.games_again)
            self.parts.strength.restore(extra.get("strength") or {})
        except ZeroError:
            raise
        except Mistake as error:
            raise ZeroError(f"{path}: the run can't go on from it ({first_line(error)})") from None
        self.parts.teller.resume_at(self.state.round - (not self.state.finished))
        if not self.state.finished:
            self.finish()

    def lost(self, number: int) -> bool:
        """Whether games of an earlier round are missing, and so is the net that played them."""
        order = read_order(self.folder.order(number))
        if self.are_there(order):
            return False
        try:
            self.player(order)
        except Mistake as error:
            self.say(
                f"round {number}: games are missing, and can't be played again "
                f"({first_line(error)}); the run goes on without this round"
            )
            return True
        return False

    def are_there(self, order: Order) -> bool:
        parts = range(order.parts)
        return all(self.folder.part(order.round, part).is_file() for part in parts)

    def games_again(self, number: int) -> list[PlayedGame]:
        """Return the games of an earlier round; what is missing is played again."""
        order = read_order(self.folder.order(number))
        if self.are_there(order):
            return read_round(self.folder, order)
        self.say(f"round {number}: games are missing, they are played again")
        self.gatherer.hand_out(order, self.player(order))
        return self.gatherer.games_of(order)[0]

    def run(self) -> None:
        """Do all rounds that are left."""
        for number in range(self.state.round + 1, self.options.rounds):
            self.one_round(number)

    def close(self) -> None:
        """End workers and reports. What is in work is given up."""
        self.gatherer.close()
        self.parts.teller.close()

    # --- a round

    def one_round(self, number: int) -> None:
        began, memory = time.monotonic(), self.parts.memory
        for soon in range(number, min(number + self.options.ahead + 1, self.options.rounds)):
            self.hand_out(soon)
        order = self.orders.pop(number)
        games, played = self.gatherer.games_of(order)
        self.parts.teller.sample(number, games)
        memory.add(number, games)
        report = tally(order, games, played) | {
            "rows": memory.rows,
            "new_rows": memory.new_rows,
            "window": memory.window,
            "uses": memory.mean_uses,
            **self.learn(number),
        }
        self.state.round, self.state.finished, self.state.report = number, False, report
        self.state.note_resignations(resignations(played_on(order, games)))
        report["seconds"] = time.monotonic() - began
        self.save()
        self.finish()

    def learn(self, number: int) -> dict[str, float]:
        """Learn from the window, and return what is reported of it."""
        memory, learner, batch = self.parts.memory, self.parts.learner, self.options.learn.batch
        began, state = time.monotonic(), self.state
        state.owed += memory.new_rows
        steps = int(state.owed * self.options.learn.uses / batch) if memory.ready else 0
        state.owed -= steps * batch / self.options.learn.uses
        steps = memory.steps_possible(steps, batch)
        state.learned = steps > 0
        if not steps:
            if memory.waiting:
                self.say(memory.waiting)
            found: Mapping[str, float] = learner.learn(iter(()), 0)  # time goes on for the schedule
            return only_reported(found)
        from models.learning.rounds import divergence

        before = learner.judge(checked(memory.new_batches(number, batch)))
        learned = learner.learn(self.told(memory.batches(number, steps, batch), steps), steps)
        after = learner.judge(checked(memory.new_batches(number, batch)))
        kl = divergence(before, after)
        learner.adapt(kl)
        return only_reported(learned) | {
            "top1": before["top1"],
            "entropy": before["entropy"],
            "explained_before": before["explained"],
            "explained_after": after["explained"],
            "kl": kl,
            "learn_seconds": (time.monotonic() - began) * self.parts.threads,
        }

    def told(self, batches: Iterator[Any], steps: int) -> Iterator[Any]:
        """Yield batches, and tell how many there were, and now and then the losses."""
        losses: dict[str, float] = {}
        for step, batch in enumerate(checked(batches)):
            if step % LOSSES_EVERY == 0:
                losses = self.parts.learner.so_far()
            self.parts.teller.learning(step, steps, losses)
            yield batch

    def finish(self) -> None:
        """Make the next net, play its matches and report the round that has been learned."""
        began, state, parts = time.monotonic(), self.state, self.parts
        number, match_seconds = state.round, 0.0
        if state.learned:
            planes = even_planes(parts.memory, number)
            if not len(planes):
                planes = some_planes(parts.memory, self.options)
            self.export(number + 1, planes)
            match_seconds = self.matches(number + 1)
        seconds = state.report["seconds"] + time.monotonic() - began
        work = sum(state.report.get(name, 0.0) for name in ("play_seconds", "learn_seconds"))
        other = max(0.0, parts.cores * seconds - work - match_seconds)
        state.core_seconds += work + match_seconds + other
        times = {
            "seconds": seconds,
            "match_seconds": match_seconds,
            "other_seconds": other,
            "core_hours": state.core_seconds / 3600,
        }
        parts.teller.round_done(RoundReport(**{**state.report, **times}))
        state.finished = True
        self.save()
        parts.nets.prune(self.oldest_net())

    def export(self, number: int, planes: np.ndarray) -> None:
        """Write the net that may play from round `number` on."""
        told = {"games": number * self.options.games, "rows": self.parts.memory.rows}
        if line := self.parts.nets.export(number, self.parts.learner, planes, told).line:
            self.say(line)

    def oldest_net(self) -> int:
        """Return the oldest net that is needed.

        It plays, or a round is begun early with it, or it played games that are in the memory:
        whoever loses some of these can have them played again.
        """
        needed = {self.state.net}
        first_to_come = self.state.round + 1
        to_come = range(first_to_come, first_to_come + self.options.ahead)
        for number in (*self.parts.memory.rounds, *to_come):
            if number not in self.played_by and (path := self.folder.order(number)).is_file():
                self.played_by[number] = read_order(path).net
            needed.add(self.played_by.get(number, NO_NET))
        return min(needed - {NO_NET}, default=0)

    def matches(self, number: int) -> float:
        """Let the new net play, and decide which net plays on; return the seconds of all cores."""
        parts, state, reports = self.parts, self.state, []
        strength, card = parts.strength, parts.nets.card_path(number)
        goes_on = True
        if self.options.strength.gate and state.net != NO_NET:
            before = (state.net, parts.nets.card_path(state.net))
            goes_on, report = strength.gate(number, card, before, self.gather, self.say)
            reports.append(report)
        if strength.due(number):
            reports += strength.play(number, card, self.gather, self.say)
        hours = (state.core_seconds + state.report["play_seconds"]) / 3600
        for report in reports:
            parts.teller.match_done(replace(report, core_hours=hours))
        state.net = number if goes_on else state.net
        return sum(report.seconds for report in reports)

    def gather(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        """Run the tasks of a match. Workers of games go on meanwhile, or sleep."""
        return executors.run(self.options.executor, function, tasks, self.say)

    def save(self) -> None:
        """Write the checkpoint."""
        extra = {
            "state": self.state.as_plain(),
            "memory": self.parts.memory.state(),
            "strength": self.parts.strength.state(),
        }
        self.parts.learner.save(self.folder.checkpoint, extra)

    # --- orders

    def hand_out(self, number: int) -> None:
        """Let workers play a round by its order, which is made if there is none yet."""
        if number in self.orders:
            return
        path = self.folder.order(number)
        if path.is_file():
            order = read_order(path)
            self.check_order(order, number)
            player = self.player(order)
        else:
            order, player = self.new_order(number)
            write_order(path, order)
        self.orders[number] = order
        self.gatherer.hand_out(order, player)

    def new_order(self, number: int) -> tuple[Order, Player]:
        options, state = self.options, self.state
        order = Order(
            round=number,
            first=number * options.games,
            stop=(number + 1) * options.games,
            task=options.task,
            seed=options.seed,
            rules=options.rules,
            komi_spread=options.komi_spread,
            random_turns=options.random_turns,
            thinking=options.thinking,
            search=options.search,
            choice=self.choice(number),
        )
        if state.net == NO_NET:
            # Fast searches are as long as full ones: games are as good as without any, but only as
            # many of their turns are learned from as of later games.
            fast = options.first_simulations if options.thinking.fast else 0
            thinking = Thinking(
                options.first_simulations, fast=fast, full_share=options.thinking.full_share
            )
            return replace(order, thinking=thinking), PlayoutPlayer(options.seed)
        player = self.parts.nets.player(state.net, options.engine, options.device)
        by_net = replace(
            order,
            net=state.net,
            file=self.folder.relative(player.path),
            sha256=player.sha256,
            engine=player.engine,
            device=player.device,
        )
        return by_net, player

    def choice(self, number: int) -> Choice:
        """Return how moves of a round are chosen, and when its players resign."""
        options, resign_at = self.options, NOBODY
        if options.resign.wrong is not None and number >= options.resign.after:
            resign_at = threshold(self.state.resignations.sum(0), options.resign.wrong)
        warm = options.warm_turns
        if warm is None:
            warm = max(1, round(WARM_TURNS * options.size**2))
        return Choice(
            temperature=options.temperature if warm else 0.0,  # a Choice's 0 turns are all turns
            warm_turns=warm,
            resign_at=resign_at,
            resign_after=first_turns(options.size),
            play_on=options.resign.play_on,
        )

    def check_order(self, order: Order, number: int) -> None:
        """Raise `ZeroError` for an order that is not of this run."""
        options = self.options
        said = (order.round, order.first, order.stop, order.seed, order.rules.size)
        first = number * options.games
        if said != (number, first, first + options.games, options.seed, options.size):
            raise ZeroError(
                f"{self.folder.order(number)}: of another run than {self.folder.path}; delete it "
                "together with the games of its round, and the run plays them again"
            )

    def player(self, order: Order) -> Player:
        """Return who plays by an order that was written before."""
        if order.by_playouts:
            return PlayoutPlayer(order.seed)
        player: RoundNet = self.parts.nets.player(order.net, order.engine, order.device)
        if player.sha256 != order.sha256:
            raise ZeroError(
                f"{player.path}: another net than when round {order.round} began (SHA-256 "
                f"{player.sha256[:12]}, not {order.sha256}); put the old one back, or delete "
                f"{self.folder.order(order.round)} and the games of that round, and the run plays "
                "them again"
            )
        return player


def only_reported(found: Mapping[str, float]) -> dict[str, float]:
    """Return those numbers that a `RoundReport` has."""
    return {name: value for name, value in found.items() if name in REPORTED}


def checked(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches; Ctrl-C is obeyed before each."""
    for batch in batches:
        interrupts.check()
        yield batch
