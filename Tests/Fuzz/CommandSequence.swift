import Bus
import Workouts

/// Commands, one per line, applied to a session as the session engine does.
enum CommandSequence {
    static func run(_ bytes: [UInt8]) {
        var session = Target.session(at: Target.now)
        for line in bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 30) {
            _ = try? JSONCoding.decode(Command.Envelope.self, from: line)
            guard let command = Target.roundTrip(Command.self, Array(line)) else { continue }
            let at = command.at ?? Target.now
            let times = AcceptedTimes(now: Target.now)
            guard times.contains(at) else { continue }
            if case .start(let start) = command.action {
                guard [start.startAt, start.endAt].compactMap(\.self).allSatisfy(times.contains) else { continue }
                session = Session(key: session.key, start: start, at: at, now: Target.now)
            } else {
                _ = session.advance(to: at)
                try? session.apply(command.action, at: at, newest: at)
            }
            publish(session)
        }
        session.expire()
        publish(session)
        session.restore(hasOther: bytes.count.isMultiple(of: 2), newest: Target.now)
        publish(session)
        session.complete()
        publish(session)
    }

    /// Stored and published values of a session are read as written and are valid.
    private static func publish(_ session: Session) {
        Target.roundTrip(Session.self, JSONCoding.encode(session))
        let state = session.state(revision: 1, lastActiveAt: Target.now)
        check(try? SessionState(JSONCoding.encode(state)), state)
        Target.roundTrip(CurrentSession.self, JSONCoding.encode(CurrentSession(revision: 1, state: state)))
        let record = WorkoutRecord(session, metrics: nil, isComplete: false, revision: 1)
        Target.roundTrip(WorkoutRecord.self, JSONCoding.encode(record))
    }
}
