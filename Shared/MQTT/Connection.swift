import CMosquitto
import Glibc

/// One connection to the broker. It owns a libmosquitto client and destroys it at the end. Each connection has a new
/// client, so no packet of an earlier connection is sent again.
///
/// The connection is confined to the network loop's thread. `threaded` is set nevertheless: libmosquitto then
/// writes nothing before ``write()``, and the loop checks before each write whether the message is void.
final class Connection {
    /// Messages from the broker. The callbacks record them, and the loop takes them after each call into the library.
    enum Event {
        /// CONNACK with success, and the broker's limit of unacknowledged QoS 1 messages.
        case accepted(receiveMaximum: Int)
        case connectionRefused(MQTTError)
        /// SUBACK, or UNSUBACK without codes.
        case granted(packet: Int32, codes: [UInt8])
        case confirmed(packet: Int32, reason: UInt8)
        /// The broker's DISCONNECT.
        case disconnected(MQTTError)
    }

    private let handle: OpaquePointer
    private let version: MQTTConfiguration.Version
    private let isTLS: Bool
    /// The received messages.
    var queue: FairQueue
    private var events: [Event] = []
    private var packetsRead = 0
    private var latestLog = ""
    private var isAccepted = false
    /// Whether ``write()`` was called: TCP is open.
    private var hasWritten = false

    private static let library = mosquitto_lib_init()

    /// Creates the client without sending anything.
    init(_ configuration: MQTTConfiguration) throws(MQTTError) {
        _ = Self.library
        guard let handle = mosquitto_new(configuration.clientID, true, nil) else {
            throw .invalid("client id: \(String(cString: strerror(errno)))")
        }
        self.handle = handle
        version = configuration.version
        isTLS = configuration.tls != nil
        queue = FairQueue(configuration)
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        setCallbacks(handle)
        try configure(configuration)
    }

    deinit {
        mosquitto_destroy(handle)
    }

    private func configure(_ configuration: MQTTConfiguration) throws(MQTTError) {
        let version = configuration.version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        try check(mosquitto_threaded_set(handle, true), "threads")
        try check(mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, version), "version")
        try check(mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1), "TCP_NODELAY")
        try check(
            mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(configuration.batchLimit)), "batch limit")
        try check(
            mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, Int32(configuration.publishWindow)), "publish window")
        if let username = configuration.username {
            let password = configuration.currentPassword() ?? configuration.password
            try check(mosquitto_username_pw_set(handle, username, password?.value), "user")
        }
        if let will = configuration.will {
            let result = will.payload.withUnsafeBytes {
                mosquitto_will_set(
                    handle, will.topic, Int32($0.count), $0.baseAddress, Int32(will.qos.rawValue), will.retain)
            }
            try check(result, "will")
        }
        if let tls = configuration.tls {
            // libmosquitto 2.0.11 accepts certificate files only with an authority, hence the folder.
            let systemAuthorities: Int32 = tls.caFile == nil ? 1 : 0
            let folder = tls.caFile == nil ? "/etc/ssl/certs" : nil
            try check(mosquitto_int_option(handle, MOSQ_OPT_TLS_USE_OS_CERTS, systemAuthorities), "authorities")
            // Encrypted keys are not supported. Without the callback OpenSSL asks for the password on the terminal.
            try check(
                mosquitto_tls_set(handle, tls.caFile, folder, tls.certificateFile, tls.keyFile) { _, _, _, _ in 0 },
                "certificate files")
            let verifyPeer: Int32 = 1
            try check(mosquitto_tls_opts_set(handle, verifyPeer, nil, nil), "TLS options")
        }
    }

    private func check(_ code: Int32, _ setting: String) throws(MQTTError) {
        guard code != MOSQ_ERR_SUCCESS.rawValue else { return }
        throw .invalid("\(setting): \(text(code))")
    }

    // MARK: The network

    /// −1 if closed.
    var socket: Int32 { mosquitto_socket(handle) }
    var wantsToWrite: Bool { mosquitto_want_write(handle) }
    /// Whether the TLS handshake is in progress. libmosquitto then asks to write while it waits for the peer; polling
    /// for that would spin.
    var isShakingHands: Bool { isTLS && hasWritten && !isAccepted }

    /// Starts to connect. Resolves the host name, which may block.
    func open(host: String, port: UInt16, keepAlive: Duration) throws(MQTTError) {
        let seconds = Int32(clamping: keepAlive.components.seconds)
        let code = mosquitto_connect_bind_async(handle, host, Int32(port), seconds, nil)
        guard code != MOSQ_ERR_SUCCESS.rawValue else { return }
        // The library leaves the resolver's code in errno.
        throw code == MOSQ_ERR_EAI.rawValue ? .unreachable(String(cString: gai_strerror(errno))) : lossError(code)
    }

    enum ReadResult {
        case more
        case drained
    }

    /// Reads at least one packet if one is available. Throws if the connection is lost.
    func read() throws(MQTTError) -> ReadResult {
        let before = packetsRead
        let code = mosquitto_loop_read(handle, 1)
        guard code == MOSQ_ERR_SUCCESS.rawValue, socket >= 0 else { throw lossError(code) }
        // errno alone is not reliable: queueing a PUBACK also writes to an unread pipe, which fills up.
        return packetsRead == before ? .drained : .more
    }

    /// Writes queued packets until the socket blocks. Throws if the connection is lost.
    func write() throws(MQTTError) {
        hasWritten = true
        let code = mosquitto_loop_write(handle, 1)
        guard code == MOSQ_ERR_SUCCESS.rawValue, socket >= 0 else { throw lossError(code) }
    }

    /// While it is corked, the kernel keeps what is written, for at most 200 ms, and then sends it together. libmosquitto
    /// writes each packet on its own.
    func cork(_ isCorked: Bool) {
        var value: Int32 = isCorked ? 1 : 0
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Queues a PINGREQ when it is due. Throws if the broker has not answered the last one.
    func keepAlive() throws(MQTTError) {
        let code = mosquitto_loop_misc(handle)
        guard code == MOSQ_ERR_SUCCESS.rawValue, socket >= 0 else { throw lossError(code) }
    }

    // MARK: Packets, queued until `write()`

    /// Returns the packet's id.
    func subscribe(_ filters: [String], qos: QoS) throws(MQTTError) -> Int32 {
        var packet: Int32 = 0
        let code = withCStrings(filters) {
            mosquitto_subscribe_multiple(handle, &packet, Int32($0.count), $0.baseAddress, Int32(qos.rawValue), 0, nil)
        }
        guard code == MOSQ_ERR_SUCCESS.rawValue else { throw .invalid("subscription: \(text(code))") }
        return packet
    }

    /// The packet's id.
    func unsubscribe(_ filters: [String]) throws(MQTTError) -> Int32 {
        var packet: Int32 = 0
        let code = withCStrings(filters) {
            mosquitto_unsubscribe_multiple(handle, &packet, Int32($0.count), $0.baseAddress, nil)
        }
        guard code == MOSQ_ERR_SUCCESS.rawValue else { throw .invalid("subscription: \(text(code))") }
        return packet
    }

    /// Returns the packet's id, also for QoS 0.
    func publish(_ message: MQTTMessage) throws(MQTTError) -> Int32 {
        var packet: Int32 = 0
        let code = message.payload.withUnsafeBytes {
            mosquitto_publish(
                handle, &packet, message.topic, Int32($0.count), $0.baseAddress, Int32(message.qos.rawValue),
                message.retain)
        }
        guard code == MOSQ_ERR_SUCCESS.rawValue else { throw .invalid(text(code)) }
        return packet
    }

    func disconnect() {
        mosquitto_disconnect(handle)
    }

    private func withCStrings(
        _ strings: [String], _ body: (UnsafeBufferPointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer(body)
    }

    // MARK: Events

    /// Whether the loop has something to do besides delivering received messages.
    var hasNews: Bool { !events.isEmpty || queue.hasDropped }

    func takeEvents() -> [Event] {
        guard !events.isEmpty else { return [] }
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    fileprivate func received(_ message: mosquitto_message) {
        packetsRead += 1
        queue.append(message)
    }

    fileprivate func note(_ event: Event) {
        packetsRead += 1
        if case .accepted = event { isAccepted = true }
        events.append(event)
    }

    fileprivate func noteLog(_ line: String) {
        latestLog = line
    }

    /// Stops recording libmosquitto's log. The log explains a failing TLS handshake better than any code; later it only
    /// costs time per message. Do not call this in a callback: the library deadlocks.
    func stopListeningToLog() {
        mosquitto_log_callback_set(handle, nil)
    }

    static func text(reason: UInt8) -> String {
        String(cString: mosquitto_reason_string(Int32(reason)))
    }

    fileprivate func connectionRefusal(_ code: Int32) -> MQTTError {
        let isVersion3 = version == .v311
        let text = isVersion3 ? mosquitto_connack_string(code) : mosquitto_reason_string(code)
        return .refused(reason: UInt8(clamping: code), String(cString: text!))
    }

    private func lossError(_ code: Int32) -> MQTTError {
        let reason = code == MOSQ_ERR_SUCCESS.rawValue ? "closed" : text(code)
        let details = latestLog.isEmpty ? reason : "\(reason): \(latestLog)"
        if isAccepted { return .connectionLost(details) }
        return isTLS && code == MOSQ_ERR_TLS.rawValue ? .handshakeFailed(details) : .unreachable(details)
    }

    private func text(_ code: Int32) -> String {
        code == MOSQ_ERR_ERRNO.rawValue ? String(cString: strerror(errno)) : String(cString: mosquitto_strerror(code))
    }
}

extension Connection {
    /// Installs callbacks that capture nothing, recover their connection and only translate.
    fileprivate func setCallbacks(_ handle: OpaquePointer) {
        mosquitto_connect_v5_callback_set(handle) { _, context, reason, _, properties in
            let connection = Connection.from(context)
            guard reason == 0 else {
                return connection.note(.connectionRefused(connection.connectionRefusal(reason)))
            }
            var receiveMaximum = UInt16.max
            mosquitto_property_read_int16(properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &receiveMaximum, false)
            connection.note(.accepted(receiveMaximum: Int(receiveMaximum)))
        }
        mosquitto_disconnect_v5_callback_set(handle) { _, context, reason, _ in
            // Codes below 0x80 are the library's own; the failing call returns them too.
            guard let code = UInt8(exactly: reason), code >= 0x80 else { return }
            Connection.from(context).note(
                .disconnected(.connectionLost(String(cString: mosquitto_reason_string(reason)))))
        }
        mosquitto_subscribe_v5_callback_set(handle) { _, context, packet, count, codes, _ in
            let codes = UnsafeBufferPointer(start: codes, count: Int(count)).map { UInt8(clamping: $0) }
            Connection.from(context).note(.granted(packet: packet, codes: codes))
        }
        mosquitto_unsubscribe_v5_callback_set(handle) { _, context, packet, _ in
            Connection.from(context).note(.granted(packet: packet, codes: []))
        }
        mosquitto_publish_v5_callback_set(handle) { _, context, packet, reason, _ in
            Connection.from(context).note(.confirmed(packet: packet, reason: UInt8(clamping: reason)))
        }
        mosquitto_message_callback_set(handle) { _, context, message in
            guard let message else { return }
            Connection.from(context).received(message.pointee)
        }
        mosquitto_log_callback_set(handle) { _, context, level, line in
            guard level & MOSQ_LOG_ERR != 0, let line else { return }
            Connection.from(context).noteLog(String(cString: line))
        }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Connection {
        Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
    }
}
