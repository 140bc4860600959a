import Bus
import MQTT
import ServiceKit
import Workouts

/// The views of runs, their lines in lists, and the retained topics of people.
extension VirtualRunMachine {
    /// Seconds between two views of a recipient, and with more than ``smallRun`` runners.
    private static let viewInterval = 1.0
    private static let largeViewInterval = 3.0
    private static let smallRun = 8

    /// Makes revisions of the views that are due.
    mutating func reviseDue(_ now: Moment) -> [VirtualRunAction] {
        viewing.isEmpty ? [] : viewing.sorted().flatMap { revise($0, now) }
    }

    /// Makes revisions of a run's views that are due and have changed.
    mutating func revise(_ id: RunID, _ now: Moment) -> [VirtualRunAction] {
        guard let entry = entries[id] else {
            viewing.remove(id)
            return []
        }
        let interval = entry.run.runnerCount > Self.smallRun ? Self.largeViewInterval : Self.viewInterval
        var actions: [VirtualRunAction] = []
        for (user, isUrgent) in entry.pendingViews.sorted(by: { $0.key < $1.key }) {
            var view = entry.record.views[user] ?? RunRecord.View(at: now)
            let isNew = view.digest == 0
            guard isUrgent || isNew || view.isCleared || now.seconds(since: view.at) >= interval else { continue }
            entries[id]?.pendingViews[user] = nil
            guard let content = content(of: entry, for: user) else { continue }
            let digest = JSONCoding.encode(content).digest
            guard digest != view.digest || view.isCleared else { continue }
            view.digest = digest
            view.isCleared = false
            view.topic.revise(now.wallClock)
            view.at = now
            entries[id]?.record.views[user] = view
            actions.append(.publishView(id, user))
        }
        if entries[id]?.pendingViews.isEmpty ?? true { viewing.remove(id) }
        return actions.isEmpty ? [] : [.save(id)] + actions
    }

    /// The view without its revision.
    private func content(of entry: LoadedRun, for user: User) -> VirtualRunView? {
        guard entry.run.shows(to: user) else { return nil }
        return entry.run.view(for: user, revision: 0, figures: entry.figures(for: user, profiles))
    }

    /// The message of a user's view; empty without one.
    mutating func viewMessage(_ id: RunID, _ user: User) -> MQTTMessage {
        let topic = Topic.user(user, .virtualRun(id))
        guard let entry = entries[id], let view = entry.record.views[user], !view.isCleared,
            var content = content(of: entry, for: user)
        else { return topic.message([]) }
        content.revision = view.topic.revision
        entries[id]?.record.views[user]?.topic.published(content.revision)
        return topic.message(JSONCoding.encode(content))
    }

    /// Handles a revision of a view on the bus.
    mutating func see(_ revision: Int64, of id: RunID, for user: User, now: Moment) -> [VirtualRunAction] {
        guard var view = entries[id]?.record.views[user] else { return [.publishView(id, user)] }
        if view.isCleared {
            guard revision > view.topic.revision else { return [.publishView(id, user)] }
            // The next view is above it.
            view.topic.raise(to: revision)
            entries[id]?.record.views[user] = view
            return [.save(id), .publishView(id, user)]
        }
        switch view.topic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishView(id, user)]
        case .revised:
            view.at = now
            entries[id]?.record.views[user] = view
            return [.save(id), .publishView(id, user)]
        }
    }

    /// Clears the views of a run that is over, 48 h after their last revision.
    mutating func clearViews(_ id: RunID, _ now: Moment) -> [VirtualRunAction] {
        guard let entry = entries[id], entry.run.status.isOver else { return [] }
        let old = entry.record.views.filter {
            !$0.value.isCleared && now.seconds(since: $0.value.at) >= RetainedTopic.lifetime
        }
        guard !old.isEmpty else { return [] }
        for user in old.keys { entries[id]?.record.views[user]?.isCleared = true }
        return [.save(id), .eraseMeetings(id, nil)] + old.keys.sorted().map { .publishView(id, $0) }
    }

    // MARK: Lists

    /// Writes the changed lines of a run, and what it counts for.
    mutating func relist(_ id: RunID) -> [VirtualRunAction] {
        guard let entry = entries[id] else { return [] }
        var listings: [User: RunListing] = [:]
        var parts: [User: RunPart] = [:]
        for participant in entry.run.participants {
            listings[participant.user] = entry.listing(of: participant.user)
            parts[participant.user] = entry.run.part(of: participant.user)
        }
        entries[id]?.listings = listings
        entries[id]?.parts = parts
        let counts = Set(parts.keys).union(entry.parts.keys).filter { parts[$0] != entry.parts[$0] }
        let gone = entry.listings.filter { listings[$0.key] == nil }.sorted { $0.key < $1.key }
        return gone.map { .unlist($0.key, $0.value) }
            + listings.filter { entry.listings[$0.key] != $0.value }.keys.sorted().map { .list($0, id) }
            + counts.sorted().map { .savePart($0, id) }
    }

    // MARK: People

    mutating func peopleMessage(_ user: User) -> MQTTMessage {
        let topic = Topic.user(user, .virtualRunPeople)
        guard let person = people[user], person.topic.revision > 0 else { return topic.message([]) }
        people[user]?.topic.published(person.topic.revision)
        return topic.message(
            JSONCoding.encode(
                RunPeople(
                    revision: person.topic.revision, contacts: person.contacts, blocked: person.blocked,
                    invitesFrom: person.invitesFrom)))
    }

    /// Handles a revision of `people` on the bus.
    mutating func seePeople(_ revision: Int64, of user: User, now: Moment) -> [VirtualRunAction] {
        guard var person = people[user], person.topic.revision > 0 else { return [.publishPeople(user)] }
        switch person.topic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publishPeople(user)]
        case .revised:
            people[user] = person
            return [.savePerson(user), .publishPeople(user)]
        }
    }
}

extension [UInt8] {
    /// FNV-1a in 64 bits, never 0. It only tells a changed view from an unchanged one.
    fileprivate var digest: UInt64 {
        let hash = reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return hash == 0 ? 1 : hash
    }
}
