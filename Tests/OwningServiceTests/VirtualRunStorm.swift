import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import VirtualRun

/// Runs of three people, of whom one declines: two start, one is canceled, one waits for its host.
struct VirtualRunStorm: StormService {
    static let name = "virtual-run"
    static let schema = RunRecord.schema
    private var loop: VirtualRunLoop

    init(_ context: ServiceContext, _ store: any Store) {
        loop = VirtualRunLoop(context: context, store: store)
    }

    mutating func handle(_ event: ServiceEvent) async throws { try await loop.handle(event) }

    static func scripts(at start: Timestamp) -> [StormScript] {
        (1...4).map { number in
            var script = StormScript(number)
            let run = RunID(script.key.session.uuid)
            let (host, ben, cleo) = (script.key.user, User("ben-\(number)")!, User("cleo-\(number)")!)
            func send(_ user: User, _ action: VirtualRunRequest.Action) {
                script.send(.user(user, .virtualRunRequest)) { id, client in
                    VirtualRunRequest(id: id, client: client, run: run, action: action)
                }
            }
            send(host, .create(RunProposal(invite: [ben, cleo])))
            send(ben, .accept(Sharing.Change(position: true)))
            send(cleo, .decline)
            send(ben, .share(Sharing.Change(hideNear: 500)))
            switch number {
            case 3: send(host, .cancel)
            case 4: break
            default:
                send(host, .begin)
                send(ben, .confirm)
                send(host, .confirm)
            }
            return script
        }
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState()
        for (_, bytes) in try disk.records(in: RunRecord.runs) {
            let record = try JSONCoding.decode(RunRecord.self, from: bytes, now: SystemClock().moment)
            let run = record.run
            for (user, view) in record.views {
                stored.raise(.user(user, .virtualRun(run.id)), view.topic.revision)
            }
            stored.note(run.host, run.status)
            for participant in run.participants {
                stored.note(participant.user, participant.status)
                stored.note(participant.user, participant.sharing)
            }
        }
        for (place, bytes) in try disk.records(in: RunRecord.people) {
            let person = try JSONCoding.decode(PersonRecord.self, from: bytes, now: SystemClock().moment)
            if let user = User(place.key) { stored.raise(.user(user, .virtualRunPeople), person.topic.revision) }
        }
        stored.accepted = Set(
            try disk.records(in: RunRecord.replies).values.map { try JSONCoding.decode(Reply.self, from: $0).id })
        return stored
    }

    static func shard(of topic: Topic) -> Shard? {
        switch topic {
        case .session(let key, _): key.session.shard
        case .user(_, .virtualRun(let run)), .user(_, .partners(let run)), .user(_, .virtualRunAnnouncements(let run)):
            run.shard
        case .user(let user, .virtualRunPeople): user.shard
        default: nil
        }
    }
}
