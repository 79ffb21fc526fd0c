"""One command of a rebase at work on its plan: what is decided, what is laid out, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from patchctl.errors import DecisionNeeded, InvalidInput, Problem, Refused
from patchctl.series import resolutions
from patchctl.series.lock import Review
from patchctl.target import safeio
from patchctl.workflows.rebase import advice, conflicts, decide, finish, guard, replay, resolver, session
from patchctl.workflows.rebase.decide import Answer
from patchctl.workflows.rebase.ground import Ground
from patchctl.workflows.rebase.plan import SETTLED_BY_HAND, Plan, Step, compute
from patchctl.workflows.rebase.session import Session
from patchctl.workflows.rebase.state import FOLDER, Decided, Open, State
from patchctl.workflows.rebase.who import today, who


@dataclass(frozen=True, slots=True)
class RebaseReport:
    """How a series stands on its way. ``written`` are the project's files that are new, once all is decided;
    ``problems`` are what keeps it from being done, or what somebody should look at."""

    start: str
    goal: str
    steps: tuple[Step, ...] = ()
    problems: tuple[Problem, ...] = ()
    exit_code: int = 0
    written: tuple[str, ...] = ()
    done: bool = False
    dry_run: bool = False
    notes: tuple[str, ...] = ()

    @property
    def decisions_needed(self) -> tuple[str, ...]:
        """The patches that a person must decide about; those that wait for one of them come by themselves."""
        return tuple(step.id for step in self.steps if step.stuck and step.outcome != "waiting")


@dataclass
class Work:
    """One command at work: the plan as it stands, and the state that it comes from."""

    here: Session
    ground: Ground
    state: State
    dry_run: bool = False
    complaints: list[Problem] = field(default_factory=list)
    plan: Plan = field(default_factory=lambda: Plan(()))
    planned: object = None  # the decisions that the plan is made with
    fresh: list[str] = field(default_factory=list)  # conflicts that no resolver has been asked about
    fallen: dict[str, Decided] = field(default_factory=dict)  # decisions that do not hold any more

    def look(self) -> None:
        """Plan anew, unless nothing was decided since the last time."""
        asked = (self.state.decided, self.state.accepted)
        if self.planned != asked:
            before = self.state.decided
            self.plan, self.state = compute(self.ground, self.state)
            self.fallen |= {id: one for id, one in before.items() if id not in self.state.decided and one.files}
            self.planned = (self.state.decided, self.state.accepted)

    def step(self, id: str) -> Step:
        self.ground.carried(id)
        return self.plan.step(id)

    def go(self) -> RebaseReport:
        """Plan, have conflicts resolved if a command is there for it, and end if nothing is open."""
        while True:
            self.look()
            if self.dry_run:
                return self._report()
            if not self.plan.stuck:
                return self._finish()
            self.publish()
            if self.state.resolver is None or not self._resolve(self.state.resolver):
                return self._report()

    # What a person, or a command, decides

    def take(self, step: Step) -> None:
        """Take the resolution of ``step`` if it is one."""
        was = self._open(step)
        laid = conflicts.layout(self.ground, step)
        with self.here.store.opened() as root:
            found = decide.answer(root, self.ground, self.plan, step, laid, was)
        self._judge(step, laid, found, "kept" if was.keep else "resolved")

    def keep(self, step: Step) -> None:
        if step.outcome not in SETTLED_BY_HAND:
            raise InvalidInput(advice.nothing_open(step, "kept"))
        was = self._open(step)
        laid = conflicts.layout(self.ground, step)
        with self.here.store.opened() as root:
            found = decide.kept(root, self.ground, self.plan, step, laid, was)
            if found.against and not found.open:
                # What was found is in these files: a person can see it there, mend it, or accept it.
                conflicts.put(root, step.id, found.files)
                opened = {**self.state.conflicts, step.id: replace(was, keep=True)}
                self.state = replace(self.state, conflicts=opened)
        self._judge(step, laid, found, "kept")

    def drop(self, step: Step, reason: str) -> None:
        self._not_there_yet(step)
        was = step.problems[0].message if step.problems else ""
        evidence = f"{step.outcome}: {was}" if was else f"it would have been {step.outcome}"
        before = self.state.decided.get(step.id)
        if before is not None and before.outcome == "dropped":
            evidence = before.evidence  # only the reason is another one
        self._decide(step, Decided("dropped", reason=reason, evidence=evidence))

    def accept(self, step: Step, reason: str) -> None:
        """Overrule what guards have against ``step`` or a person's answer to it, or take note of its reviews."""
        self._not_there_yet(step)
        if step.outcome in SETTLED_BY_HAND and step.id in self.state.conflicts and self._accept_answer(step, reason):
            return
        if step.stuck and not step.guarded:
            raise InvalidInput(advice.nothing_to_accept(step))
        findings = [self._review(note.kind, note.text, note.file, reason) for note in step.report.review]
        findings += [self._review(one.kind, one.message, one.file, reason) for one in step.problems]
        if not findings:
            raise InvalidInput(advice.nothing_to_accept(step))
        self.state = self.state.with_accepted(step.id, tuple(findings))

    def _not_there_yet(self, step: Step) -> None:
        tag = self.ground.goal.tag
        if step.existing is not None or step.id in self.ground.dropped:
            why = f"{tag} has decided about {step.id} already; a rebase does not change that."
            raise InvalidInput(Problem("decided", why, step.id, next=f"patchctl list {tag}"))

    def _accept_answer(self, step: Step, reason: str) -> bool:
        """Take a person's answer to ``step`` in spite of the guards; False if there is none, or nothing against it."""
        was = self._open(step)
        laid = conflicts.layout(self.ground, step)
        with self.here.store.opened() as root:
            found = decide.answer(root, self.ground, self.plan, step, laid, was)
        if found.untouched:
            return False
        unanswerable = [*found.open, *(one for one in found.against if one.kind not in guard.KINDS)]
        if unanswerable:
            self.complaints += unanswerable
            return True
        findings = [*found.against, *found.review]
        if not findings:
            return False
        reviews = tuple(self._review(one.kind, one.message, one.file, reason) for one in findings)
        self.state = self.state.with_accepted(step.id, reviews)
        outcome = "kept" if was.keep else "resolved"
        self._decide(step, Decided(outcome, found.files, step.stamps))
        return True

    def _review(self, kind: str, text: str, file: str | None, reason: str) -> Review:
        return Review(kind, text, file or "", who(self.here.root.path), reason, today())

    def _judge(self, step: Step, laid: conflicts.Laid, found: Answer, outcome: str) -> None:
        accepted = self.state.accepted.get(step.id, ())
        against = [one for one in found.against if not guard.covered(one, accepted)]
        if found.open or against:
            self.complaints += [*found.open, *against]
            return
        texts: tuple[str, ...] = ()
        if outcome == "resolved" and not accepted:
            made = f"{self.ground.start} -> {self.ground.goal.tag}"
            proposals = {
                path: state.data for path in step.report.proposals if (state := laid.proposed.get(path)) is not None
            }
            memory = replay.remembered(step.id, made, proposals, found.files)
            texts = tuple(resolutions.dumps(one).decode("utf-8", "surrogateescape") for one in memory)
        review = tuple((one.kind, one.message, one.file) for one in found.review)
        self._decide(step, Decided(outcome, found.files, step.stamps, memory=texts, review=review))

    def _decide(self, step: Step, decided: Decided) -> None:
        self.state = self.state.with_decision(step.id, decided)

    def _open(self, step: Step) -> Open:
        was = self.state.conflicts.get(step.id)
        if was is None:
            raise InvalidInput(advice.nothing_open(step, "resolved"))
        return was

    # What comes of it

    def publish(self) -> None:
        """Lay the open conflicts out, and write the state."""
        try:
            self._publish()
        except OSError as error:
            outcome = f"Nothing outside {FOLDER}/ has changed."
            raise safeio.failed(error, "laying out the conflicts", outcome) from error

    def _publish(self) -> None:
        opened: dict[str, Open] = {}
        with self.here.store.opened() as root:
            for step in self.plan.stuck:
                fallen = self.fallen.pop(step.id, None)
                if fallen is not None and fallen.ground != step.stamps:
                    conflicts.set_aside(root, step.id, fallen.files)
                    self.complaints.append(advice.changed(step))
                if step.outcome not in SETTLED_BY_HAND:
                    continue
                was = self.state.conflicts.get(step.id)
                laid = conflicts.lay_out(root, step, conflicts.layout(self.ground, step), was)
                opened[step.id] = laid
                if fallen is not None and fallen.ground == step.stamps:
                    conflicts.put(root, step.id, fallen.files)  # the same question: only the answer does not do
                    continue
                if laid is not was:
                    self.fresh.append(step.id)
                if laid is not was and was is not None:
                    self.complaints.append(advice.changed(step))
            self.state = replace(self.state, conflicts=opened)
            self.here.store.write(root, self.state)
            conflicts.sweep(root, frozenset(opened), frozenset(step.id for step in self.plan.stuck))

    def _resolve(self, command: str) -> bool:
        """Run the resolver on conflicts that it has not seen yet; whether it decided any."""
        before = self.state
        for step in self.plan.stuck:
            if step.id not in self.fresh or step.outcome != "conflict":
                continue
            self.fresh.remove(step.id)
            laid = conflicts.layout(self.ground, step)
            document = resolver.describe(self.ground, step, laid)
            ran = resolver.run(command, self.here.root.path / conflicts.folder(step.id), document)
            session.check_inputs(self.ground.project, self.state)
            if ran.fault is not None:
                said = f" It said: {ran.said}" if ran.said else ""
                why = f"The resolver did not resolve {step.id}: {ran.fault}.{said}"
                self.complaints.append(Problem("resolver", why, step.id, next="patchctl rebase --continue"))
                continue
            self.take(step)
        return self.state is not before

    def _finish(self) -> RebaseReport:
        memory = [
            resolutions.loads(text.encode("utf-8", "surrogateescape"))
            for one in self.state.decided.values()
            for text in one.memory
        ]
        outcome = finish.fitting(self.here.root, finish.prepare(self.ground, self.plan, self.state, memory))
        session.check_inputs(self.ground.project, self.state)
        written = finish.write(self.here.root, outcome, self.state.inputs, state_stands=self.here.stands)
        self.here.store.forget()
        self.complaints += outcome.problems
        return replace(self._report(), written=tuple(written), done=True)

    def _report(self) -> RebaseReport:
        stuck = self.plan.stuck
        problems = [*self.complaints]
        told = {problem.patch for problem in self.complaints}
        for step in stuck:
            if step.id not in told:
                problems += [advice.with_next(self.ground, step, problem, self.dry_run) for problem in step.problems]
        code = 0
        if stuck:
            refused = {step.id for step in stuck if step.outcome == "refused"}
            code = Refused.exit_code if refused else DecisionNeeded.exit_code
            problems.sort(key=lambda problem: problem.patch not in refused)
        else:
            problems += [
                Problem(note.kind, f"{note.text} (line {note.line})" if note.line else note.text, step.id, note.file)
                for step in self.plan.steps
                for note in step.report.review
            ]
        problems += self.plan.problems
        notes = self.ground.notes
        if self.here.recovered:
            notes = ("What an interrupted rebase had left was put right first.", *notes)
        return RebaseReport(
            self.ground.start,
            self.ground.goal.tag,
            self.plan.steps,
            tuple(problems),
            code,
            dry_run=self.dry_run,
            notes=notes,
        )
