import Bus
import Foundation
import ServiceKit
import TestSupport
import Workouts

@testable import VirtualRun

/// One run, its people and a clock. Times are seconds since its creation.
struct RunStage {
    static let anna = User("anna")!
    static let ben = User("ben")!
    static let cleo = User("cleo")!
    static let dora = User("dora")!
    static let began = Timestamp(seconds: 1_700_000_000)
    static let hour = 3_600.0

    var run: Run
    private(set) var time = 0.0
    /// The seconds by which the wall clock has stepped.
    var step = 0.0
    var random = SeededRandom(seed: 7)
    private var revision: Int64 = 0

    /// A run that `anna` creates.
    init(
        invite: [User] = [ben, cleo], ghosts: [GhostSource] = [], sharing: Sharing.Change = Sharing.Change(),
        unreachable: Set<User> = [], _ change: (inout RunSettings) -> Void = { _ in }
    ) throws {
        var settings = RunSettings()
        change(&settings)
        run = try Run(
            Self.id(1), RunProposal(settings, invite: invite, ghosts: ghosts, sharing: sharing), from: Self.anna,
            unreachable: unreachable, now: Moment(Self.began))
    }

    static func id(_ number: UInt8) -> RunID { RunID(uuid(number)) }

    static func uuid(_ number: UInt8) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))
    }

    var now: Moment { Moment(Self.began + time).stepped(by: step) }

    func time(_ seconds: Double) -> Timestamp { Self.began + seconds }

    func participant(_ user: User) -> RunParticipant { run.participant(user)! }

    func status(_ user: User) -> ParticipantStatus? { run.participant(user)?.status }

    func seconds(_ moment: Moment?) -> Double? { moment.map { time + $0.seconds(since: now) } }

    func view(_ user: User, figures: RunFigures = RunFigures()) -> VirtualRunView? {
        run.view(for: user, revision: 1, figures: figures)
    }

    /// Performs a request and returns `ok` or the code of its refusal.
    @discardableResult
    mutating func ask(
        _ user: User, _ action: VirtualRunRequest.Action, context: RunContext = RunContext()
    ) -> String {
        do throws(Refusal) {
            try run.receive(action, from: user, context: context, now: now, using: &random)
            return "ok"
        } catch {
            return error.code
        }
    }

    mutating func advance(to seconds: Double) {
        time = seconds
        run.advance(to: now)
    }

    mutating func advance(by seconds: Double) { advance(to: time + seconds) }

    /// Advances past the common start.
    mutating func advanceToStart() {
        while run.status == .starting { advance(by: 1) }
    }

    /// Time goes on while no deadline passes: a connection is new.
    mutating func wait(_ seconds: Double) { time += seconds }

    /// The newest state of a user's session, by default of the one that the confirmation drew.
    mutating func see(
        _ user: User, _ status: SessionStatus, _ number: UInt8? = nil, started: Double? = nil, ended: Double? = nil,
        run id: RunID? = nil, revision: Int64? = nil
    ) {
        let session = number.map { SessionID(Self.uuid($0)) } ?? participant(user).entry?.session
        guard let session else { return }
        self.revision += 1
        let begins = status == .preparing || status == .deleted ? nil : started ?? time
        let ends = status == .saving || status == .completed ? ended ?? time : nil
        run.see(
            RunSession(
                session: session, revision: revision ?? self.revision, status: status, startedAt: begins.map(time),
                endedAt: ends.map(time), environment: .outdoor, run: status == .deleted ? nil : id ?? run.id),
            of: user, now: now)
    }

    /// The run as another process loads it.
    mutating func restart() throws {
        let record = JSONCoding.encode(run)
        run = try JSONCoding.decode(Run.self, from: record, now: now)
        run.limit(to: now)
    }
}

/// How far a run is, with `anna` as its host and `ben` and `cleo` as invited.
enum Scene: String, CaseIterable {
    case inviting
    /// Ben accepted.
    case accepted
    /// The host began.
    case confirming
    /// The host confirmed.
    case hostConfirmed
    case starting, running, finished, canceled, expired
    /// Running, and closed to people who come later.
    case closed
    /// Rolling, and ben accepted.
    case rolling

    func stage() throws -> RunStage {
        let (anna, ben) = (RunStage.anna, RunStage.ben)
        var stage = try RunStage {
            if self == .rolling { $0.start = .rolling }
            if self == .closed { $0.lateJoin = false }
        }
        if self == .inviting { return stage }
        if self == .canceled {
            stage.ask(anna, .cancel)
            return stage
        }
        if self == .expired {
            stage.advance(to: 24 * RunStage.hour)
            return stage
        }
        stage.ask(ben, .accept(Sharing.Change()))
        if self == .accepted || self == .rolling { return stage }
        stage.ask(anna, .begin)
        if self == .confirming { return stage }
        stage.ask(anna, .confirm)
        if self == .hostConfirmed { return stage }
        stage.ask(ben, .confirm)
        if self == .starting { return stage }
        stage.advanceToStart()
        stage.see(anna, .active)
        stage.see(ben, .active)
        if self == .running || self == .closed { return stage }
        stage.advance(by: 600)
        stage.see(anna, .completed)
        stage.see(ben, .completed)
        return stage
    }
}
