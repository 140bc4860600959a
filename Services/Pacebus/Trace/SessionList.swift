import Foundation
import ServiceKit
import Storage
import Workouts

/// The sessions of one user in session-engine's store, the last changed first.
struct SessionList: Encodable {
    struct Session: Encodable {
        let session: String
        let name: String?
        let status: String
        let changedAt: Timestamp
    }

    let user: User
    let sessions: [Session]

    init(of user: User, in store: StoreReader) throws(StoreError) {
        self.user = user
        var found: [Session] = []
        let folder = StoreFolder(shard: user.shard, path: "\(user)")
        for collection in [StoreCollection("history"), StoreCollection("sessions")] {
            found += try store.records(in: collection, of: folder).compactMap(Session.init)
        }
        sessions = found.sorted { ($0.changedAt, $0.session) > ($1.changedAt, $1.session) }
    }

    var text: String {
        sessions.map { session in
            [Story.time(session.changedAt), session.session, session.status, session.name].compactMap(\.self)
                .joined(separator: "  ").escapingControlCharacters()
        }.joined(separator: "\n")
    }
}

extension SessionList.Session {
    init?(_ record: StoreRecord) {
        let object = (try? JSONSerialization.jsonObject(with: Data(record.value))) as? [String: Any] ?? [:]
        guard let id = record.key.split(separator: "/").last, let session = object["session"] as? [String: Any],
            let revision = object["revision"] as? Int64
        else { return nil }
        let status = session["status"]
        self.init(
            session: String(id), name: session["name"] as? String,
            status: status as? String ?? (status as? [String: Any])?.keys.first ?? "unknown",
            changedAt: Timestamp(seconds: Double(revision) / 1_000))
    }
}
