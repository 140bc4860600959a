import Bus
import TestSupport
import Workouts

extension SeededRandom {
    mutating func text(_ alphabet: String, _ length: ClosedRange<Int>) -> String {
        let letters = Array(alphabet)
        return String((0..<Int.random(in: length, using: &self)).map { _ in letters.randomElement(using: &self)! })
    }

    mutating func user() -> User {
        User(text("abcxyz0189", 1...1) + text("abcxyz0189-_", 0...63))!
    }

    mutating func name<Kind>() -> DashedName<Kind> {
        DashedName(text("abcxyz0189", 1...1) + text("abcxyz0189-", 0...63))!
    }

    mutating func identifier<Kind>() -> Identifier<Kind> {
        let groups = [8, 4, 4, 4, 12].map { text("0123456789abcdef", $0...$0) }
        return Identifier(groups.joined(separator: "-"))!
    }

    /// One topic of every kind, with random names.
    mutating func topics() -> [Topic] {
        let key = SessionKey(user(), identifier())
        let session: [SessionTopic] = [
            .command, .state, .profile, .samples(name()), .samplesAck(name()), .locations(name()),
            .locationsAck(name()), .metrics, .route, .heard(.samples), .heard(.locations), .weather, .announcements,
            .activityRegister, .activity, .summaryMetrics, .summaryRoute,
            .series(.random(in: 0...SessionTopic.chunkLimit, using: &self)),
            .track(.random(in: 0...SessionTopic.chunkLimit, using: &self)), .request, .workout, .export(name()),
            .exportResult(name()),
        ]
        let run: RunID = identifier()
        let upload: ImportID = identifier()
        let user: [UserTopic] = [
            .current, .profile, .request, .viewerRequest(self.user()), .plans, .replies(name()), .rejected,
            .coachRequest, .coachReply, .virtualRunRequest,
            .virtualRun(run), .partners(run), .partnerPositions(run), .virtualRunPeople, .virtualRunAnnouncements(run),
            .notificationsRegister, .signOut, .signedOut, .importRequest, .importStatus(upload), .importParts(upload),
            .importAck(upload),
        ]
        let service: ProcessName = name()
        return session.map { .session(key, $0) } + user.map { .user(key.user, $0) } + [
            .presence(service: service.description, name()), .rejected(service: service.description),
            .account(key.user), .limited(limit: text("abcxyz0189_", 1...64), key.user),
        ]
    }
}
