import Bus
import MQTT
import ServiceKit
import Workouts

/// Decodes messages and passes them to the machine.
extension LiveActivityPublisherLoop {
    private mutating func receivePartners(_ message: MQTTMessage, of user: User, in run: RunID, _ now: Moment) {
        guard let key = machine.shown.session(of: user, in: run) else { return }
        do throws(PayloadError) {
            let partners = message.payload.isEmpty ? nil : try JSONCoding.decode(Partners.self, from: message.payload)
            machine.receivePartners(partners, of: key, now: now)
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
        }
    }

    mutating func receiveMessage(_ message: MQTTMessage, _ now: Moment) {
        switch Topic(message.topic) {
        case .user(let user, .partners(let run)): receivePartners(message, of: user, in: run, now)
        case .user(let user, let topic) where outbox.owns(user.shard): receiveUserMessage(message, of: user, topic, now)
        case .session(let key, let topic) where outbox.owns(key.session.shard):
            receiveSessionMessage(message, of: key, topic, now)
        case .some: break
        case nil:
            let rejection = Rejection(badTopic: message.topic, owns: outbox.owns)
            if let rejection { reject(message, rejection, now) }
        }
    }

    private mutating func receiveUserMessage(_ message: MQTTMessage, of user: User, _ topic: UserTopic, _ now: Moment) {
        do throws(PayloadError) {
            switch topic {
            case .notificationsRegister:
                let registration = try JSONCoding.decode(NotificationRegistration.self, from: message.payload)
                outbox.add(machine.notifications.receiveRegistration(registration, of: user, now: now))
            case .profile where !message.payload.isEmpty:
                let facts = try JSONCoding.decode(Notifications.UserFacts.self, from: message.payload)
                outbox.add(machine.notifications.receiveProfile(facts, of: user, now: now))
            case .virtualRun(let run) where message.payload.isEmpty:
                outbox.add(machine.notifications.forgetView(of: user, in: run, now: now))
            // Most users register no device.
            case .virtualRun(let run) where machine.notifications.wantsViews(of: user):
                let view = try JSONCoding.decode(VirtualRunView.self, from: message.payload)
                guard view.user == user, view.run == run else { throw .malformed("user or run is not the topic's") }
                outbox.add(machine.notifications.receiveView(view, now: now))
            default: break
            }
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
            guard topic == .notificationsRegister,
                let (client, reply) = Reply.refusing(message.payload, error, now: now.wallClock)
            else { return }
            outbox.add([.reply(.user(user), client, reply)])
        }
    }

    private mutating func receiveSessionMessage(
        _ message: MQTTMessage, of key: SessionKey, _ topic: SessionTopic, _ now: Moment
    ) {
        do throws(PayloadError) {
            switch topic {
            case .state where message.payload.isEmpty: outbox.add(machine.forgetState(of: key, now: now))
            case .state:
                let state = try SessionState(message.payload)
                guard state.key == key else { throw .malformed("user or session is not the topic's") }
                outbox.add(machine.receiveState(state, plan: try PlanState(message.payload), now: now))
            // The last ones may come after the end of the subscription.
            case .metrics where machine.shown.hasMetrics(of: key) && !message.payload.isEmpty:
                machine.receiveMetrics(try MetricsSnapshot(message.payload), of: key, now: now)
            case .activityRegister:
                let registration = try JSONCoding.decode(ActivityRegistration.self, from: message.payload)
                outbox.add(machine.receiveRegistration(registration, of: key, now: now))
            case .activity where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
                outbox.add(machine.see(seen.revision, of: key, now: now))
            default: break
            }
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
            guard topic == .activityRegister,
                let (client, reply) = Reply.refusing(message.payload, error, now: now.wallClock)
            else { return }
            outbox.add([.reply(.session(key), client, reply)])
        }
    }

    private mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        var (message, rejection) = (message, rejection)
        // A registration contains a token, which operators may not read.
        if message.topic.hasSuffix("/register") {
            message.payload = []
            rejection.value = nil
        }
        outbox.reject(message, rejection, at: now)
    }
}
