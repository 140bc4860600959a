import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// The rows of "Edge Cases & Error Handling" in the specification of resuming, by name. Rows without meaning on a bus
/// are omitted.
struct ResumeEdgeCaseTests {
    private var planned: PlannedEngine

    init() async throws {
        planned = try await PlannedEngine()
    }

    private mutating func completeEverySet() async throws {
        for item in ["bench", "row"] {
            for set in 0..<3 {
                let reference = SetReference(item: item, set: set)
                #expect(try await planned.perform(.completeSet(SetCompletion(reference)))?.ok == true)
            }
        }
    }

    // MARK: Data integrity

    @Test mutating func `corrupt file on disk: the record is set aside, and a new workout can start`() async throws {
        try await planned.begin(.strength)
        let offer = try #require(planned.current)
        let topic = Topic.session(planned.key, .state)
        let old = topic.message(try #require(planned.latest[topic.name]))
        try await planned.corrupt()
        for _ in 0..<2 {
            try await planned.restart()
            #expect(planned.record == nil)
            // No command finds the session, so no topic shows it, whatever the broker restores.
            #expect(planned.latest[topic.name] == [])
            #expect(try await planned.deliver([old]).payloads(topic) == [[]])
        }
        // The broker still has the old offer to resume.
        try await planned.deliver([Topic.user(PlannedEngine.user, .current).message(JSONCoding.encode(offer))])
        let current = try #require(planned.current)
        #expect(current.session == nil && current.revision > offer.revision)
        var other = SessionStart(activity: .other, countdown: 0)
        other.definition = .intervals
        let command = planned.command(.start(other))
        let key = SessionKey(PlannedEngine.user, SessionID(UUID()))
        let sent = try await planned.deliver([Topic.session(key, .command).message(JSONCoding.encode(command))])
        #expect(sent.replies.map(\.ok) == [true])
        // A device that kept its queue begins the lost session again.
        var again = SessionStart(activity: .other, countdown: 0)
        again.replace = true
        #expect(try await planned.perform(.start(again))?.ok == true)
        try await planned.restart()
        #expect(planned.state?.status == .active)
    }

    @Test mutating func `app killed during persist: answered commands are stored, others can be repeated`()
        async throws
    {
        try await planned.begin(.strength)
        #expect(try await planned.perform(.completeSet(SetCompletion(SetReference(item: "bench", set: 0))))?.ok == true)
        planned.refuseDisk(true)
        let second = planned.command(.plan(.completeSet(SetCompletion(SetReference(item: "bench", set: 1)))))
        #expect(try await planned.send(second) == [])
        try await planned.restart()
        #expect(planned.plan?.progress.progress.completed["bench"]?.map(\.set) == [0])
        #expect(try await planned.send(second).map(\.ok) == [true])
        #expect(planned.plan?.progress.progress.completed["bench"]?.map(\.set) == [0, 1])
    }

    @Test
    mutating func `low disk space: a warning is announced, the workout continues in memory and is stored later`()
        async throws
    {
        try await planned.begin(.strength)
        planned.refuseDisk(true)
        let set = planned.command(.plan(.completeSet(SetCompletion())))
        #expect(try await planned.send(set) == [])
        #expect(planned.announcements.last?.kind == .warning)
        #expect(planned.record?.session.planned?.progress.completed["bench"]?.count == 1)
        planned.refuseDisk(false)
        try await planned.advance(to: 3)
        #expect(try await planned.send(set).map(\.ok) == [true])
        try await planned.restart()
        #expect(planned.plan?.progress.progress.completed["bench"]?.count == 1)
    }

    @Test mutating func `multiple rapid dismiss and resume cycles: nothing accumulates but the segments`() async throws
    {
        try await planned.begin(.strength)
        for cycle in 0..<50 {
            try await planned.perform(.suspend, at: Double(cycle) + 0.5)
            try await planned.perform(.resume, at: Double(cycle) + 1)
        }
        #expect(planned.state?.segments.count == 51)
        #expect(planned.record?.session.segments.activeDuration(at: PlannedEngine.start + 50) == 25)
        #expect(try await planned.records() == 1)
    }

    // MARK: In-flight calls

    @Test
    mutating func `dismiss during swap, flag-pain or adjust call: suspend waits, then applies with or without it`()
        async throws
    {
        var planned = try await PlannedEngine(asksCoach: true)
        try await planned.begin(.strength)
        _ = try await planned.perform(.adjustDifficulty(item: nil, .easier))
        #expect(try await planned.perform(.suspend) == nil)
        // This command needs no coach, but it does not overtake the suspend.
        #expect(try await planned.perform(.flagPain(item: "bench")) == nil)
        let replies = try await planned.advance(to: 3.2)
        #expect(replies.map(\.error?.code) == ["coach_timeout", nil, nil])
        try await planned.restart()
        #expect(planned.state?.status == .suspended)
        #expect(planned.plan?.progress.progress.painFlagged == ["bench"])
        #expect(planned.plan?.plan.item("bench")?.sets.first?.weight == 60)
    }

    // MARK: Session and server state

    @Test mutating func `workout data references stale server state: the session keeps its own copy`() async throws {
        let id = PlanID(UUID())
        _ = try await planned.request(.savePlan(id, .strength))
        try await planned.begin(.strength)
        try await planned.perform(.suspend, at: 10)
        let before = planned.plan
        _ = try await planned.request(.deletePlan(id))
        try await planned.restart(after: 60)
        try await planned.perform(.resume)
        #expect(planned.plan?.plan == before?.plan)
        #expect(planned.plan?.progress == before?.progress)
    }

    @Test mutating func `server session expiry: end returns session_not_found after the purge`()
        async throws
    {
        try await planned.begin(.strength)
        try await planned.perform(.suspend, at: 10)
        let day = 86_400.0
        try await planned.advance(to: day, step: 3_600)
        #expect(planned.state?.status == .canceled)
        try await planned.advance(to: 4 * day, step: 3_600)
        #expect(planned.state?.status == .deleted)
        #expect(planned.state?.endReason == "expired")
        #expect(try await planned.perform(.end(streams: [:]))?.error?.code == "session_not_found")
        // The device logs the workout again, and the record names the replaced session.
        let key = SessionKey(PlannedEngine.user, SessionID(UUID()))
        var start = SessionStart(activity: .traditionalStrength, countdown: 0)
        start.definition = .strength
        start.notSynced = planned.key.session
        start.endAt = PlannedEngine.start + 100
        for command in [
            planned.command(.start(start), at: 0), planned.command(.end(streams: [:]), at: 100),
        ] {
            let sent = try await planned.deliver([Topic.session(key, .command).message(JSONCoding.encode(command))])
            #expect(sent.replies.map(\.ok) == [true])
        }
        try await planned.advance(to: 4 * day + 20, step: 1)
        #expect(planned.engine?.record(key)?.workout?.notSynced == planned.key.session)
    }

    @Test
    mutating func `orphaned server sessions from interrupted generation: a new start replaces them, or they expire`()
        async throws
    {
        var start = SessionStart(activity: .other, countdown: 600)
        start.definition = .strength
        try await planned.perform(.start(start))
        var next = SessionStart(activity: .other, countdown: 0)
        let key = SessionKey(PlannedEngine.user, SessionID(UUID()))
        var sent = try await planned.deliver([
            Topic.session(key, .command).message(JSONCoding.encode(planned.command(.start(next))))
        ])
        #expect(sent.replies.map(\.error?.code) == ["session_in_progress"])
        next.replace = true
        sent = try await planned.deliver([
            Topic.session(key, .command).message(JSONCoding.encode(planned.command(.start(next))))
        ])
        #expect(sent.replies.map(\.ok) == [true])
        #expect(planned.state?.status == .canceled && planned.state?.endReason == "discarded")
        #expect(planned.current?.session == key.session)
        try await planned.advance(to: 7 * 3_600, step: 600)
        #expect(planned.engine?.session(key)?.statusName == .canceled)
    }

    // MARK: Status transitions

    @Test mutating func `user leaves during generating: suspend is refused, and nothing is offered`()
        async throws
    {
        var start = SessionStart(activity: .other, countdown: 10)
        start.definition = .strength
        try await planned.perform(.start(start))
        #expect(try await planned.perform(.suspend)?.error?.code == "invalid_state")
        #expect(planned.current?.details?.status == .preparing)
        #expect(planned.current?.details?.offersResume == false)
        try await planned.restart()
        #expect(planned.state?.status == .preparing)
        #expect(planned.current?.details?.offersResume == false)
    }

    @Test mutating func `user leaves during completing or completed: it finishes, and nothing is offered`()
        async throws
    {
        try await planned.begin(.strength)
        try await planned.perform(.end(streams: [:]), at: 0)
        #expect(planned.state?.status == .saving)
        #expect(planned.current?.session == nil)
        #expect(try await planned.perform(.suspend)?.error?.code == "invalid_state")
        try await planned.restart()
        #expect(planned.state?.status == .saving)
        try await planned.advance(to: 12, step: 1)
        #expect(planned.state?.status == .completed)
        #expect(planned.current?.session == nil)
        #expect(try await planned.perform(.suspend)?.error?.code == "invalid_state")
    }

    @Test mutating func `resume with all exercises already complete: nothing auto-completes`() async throws {
        try await planned.begin(.strength)
        try await planned.advance(to: 30, step: 10)
        try await completeEverySet()
        try await planned.perform(.suspend)
        #expect(planned.pill == "2/2")
        #expect(planned.current?.details?.offersResume == true)
        try await planned.restart(after: 600)
        try await planned.perform(.resume)
        try await planned.advance(to: 1_000, step: 10)
        #expect(planned.state?.status == .active)
        #expect(planned.plan?.timer.phase == .over)
    }

    @Test
    mutating func `user completes workout after resuming: the record has active time only, and the offer ends`()
        async throws
    {
        try await planned.begin(.strength)
        try await planned.perform(.suspend, at: 100)
        try await planned.restart(after: 3_600)
        try await planned.perform(.resume)
        try await planned.advance(to: 3_650, step: 10)
        try await planned.perform(.end(streams: [:]))
        try await planned.advance(to: 3_670, step: 1)
        #expect(planned.workout?.activeDuration == 150)
        #expect(planned.current?.session == nil)
    }

    // MARK: View state

    @Test mutating func `presentation mode is persisted`() async throws {
        try await planned.begin(.strength)
        try await planned.perform(.setPresentationMode(.list))
        try await planned.perform(.suspend)
        try await planned.restart(after: 10)
        try await planned.perform(.resume)
        #expect(planned.plan?.progress.progress.presentationMode == .list)
    }

    // MARK: Calendar and home screen

    @Test mutating func `calendar event changes while workout is suspended: the session keeps its plan`()
        async throws
    {
        let id = PlanID(UUID())
        _ = try await planned.request(.savePlan(id, .strength))
        try await planned.begin(.strength)
        try await planned.perform(.completeSet(SetCompletion()), at: 5)
        try await planned.perform(.suspend, at: 10)
        _ = try await planned.request(.savePlan(id, .intervals))
        #expect(planned.plans?.plans.map(\.definition) == [.intervals])
        #expect(planned.current?.session == planned.key.session)
        #expect(planned.current?.details?.name == "Upper Body")
        try await planned.perform(.resume, at: 20)
        #expect(planned.plan?.plan == SessionPlan(.strength))
        #expect(planned.plan?.progress.item == "bench" && planned.plan?.progress.set == 1)
    }

    @Test mutating func `every status survives a kill, and current offers only unfinished sessions`() async throws {
        try await planned.begin(.strength)
        let steps: [(SessionAction?, SessionStatus, Bool)] = [
            (nil, .active, true), (.pause, .paused, true), (.suspend, .suspended, true), (.resume, .active, true),
            (.end(streams: [:]), .saving, false),
        ]
        for (action, status, isOffered) in steps {
            if let action { try await planned.perform(action) }
            try await planned.restart(after: 1)
            #expect(planned.state?.status == status)
            #expect((planned.current?.details?.offersResume ?? false) == isOffered)
        }
    }
}
