# SPDX-License-Identifier: Apache-2.0
# virtual.bash - Debian's kernels, and machines that boot them; part of run.
# shellcheck shell=bash disable=SC2154 # run has the variables

# The mirror that this machine's apt uses.
mirror() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' \
		'Origin: Debian' 'Label: Debian' 'Component: main' | head -n 1
}

# apt_of SUITE COMMAND...: an apt of that suite alone, beside the machine's.
apt_of() {
	local state=$work/apt-$1 command=$2
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	mkdir -p "$state"/lists/partial "$state"/cache/archives/partial
	echo "deb [signed-by=$keyring] $(mirror) $1 main" >"$state/sources.list"
	"$command" -q -o "Dir::Etc::SourceList=$state/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache" \
		-o Dir::State::status=/dev/null -o Debug::NoLocking=1 \
		-o APT::Sandbox::User=root "${@:3}"
}

# make_kernel SUITE: the suite's newest kernel, unpacked and not installed, once.
make_kernel() {
	local dir=$MACHINES_DIR/kernels/$1 package
	local meta=linux-image-cloud-amd64
	[ ! -d "$dir" ] || return 0
	mkdir -p "$MACHINES_DIR/kernels"
	rm -rf "$dir.part"
	apt_of "$1" apt-get update >/dev/null
	package=$(apt_of "$1" apt-cache depends $meta |
		awk '$1 == "Depends:" { print $2; exit }')
	[ -n "$package" ] || die "no $meta in $1"
	mkdir "$dir.part"
	(cd "$dir.part" && apt_of "$1" apt-get download "$package" >/dev/null)
	dpkg-deb -x "$dir.part/$package"_*.deb "$dir.part"
	mv "$dir.part" "$dir"
}

# make_start SUITE: the first file system: the disk's drivers, and init.
make_start() {
	local start=$work/$1.start module file
	rm -rf "$start"
	mkdir -p "$start"/{bin,dev,proc,root}
	cp /bin/busybox "$start/bin/"
	cp test/machines/start "$start/init"
	for module in virtio virtio_ring virtio_pci_legacy_dev \
		virtio_pci_modern_dev virtio_pci virtio_blk; do
		# Some of them are in the kernel itself.
		file=$(find "$MACHINES_DIR/kernels/$1/" -name "$module.ko*")
		case $file in
		*.xz) xz -dc "$file" >"$start/$module.ko" ;;
		?*) cp "$file" "$start/$module.ko" ;;
		esac
	done
	(cd "$start" && find . | cpio -o -H newc --quiet) | gzip -1 \
		>"$work/$1.start.gz"
}

# make_disk SUITE: the root as a disk, with room for the tests' files.
make_disk() {
	local root=$MACHINES_DIR/roots/$1
	rm -f "$work/$1.disk"
	mke2fs -q -t ext4 -d "$root" "$work/$1.disk" \
		"$(($(du -sm "$root" | cut -f1) + 700))M"
}

# accelerator SUITE: kvm if a machine starts with it, not if it is merely there.
accelerator() {
	[ -z "${accelerated-}" ] || return 0
	accelerated=tcg
	[ -w /dev/kvm ] || return 0
	qemu 20 "$1" -accel kvm -cpu host -append "console=ttyS0 quiet probe" 2>/dev/null |
		grep -q "it works" || return 0
	accelerated=kvm
}

# qemu SECONDS KERNEL OPTION...: the machine with that kernel. The emulator is
# trixie's (10.0): 12's own, 7.2, corrupts memory of a kernel as new as 6.12.
# shellcheck disable=SC2016 # the inner shell has the variables
qemu() {
	local root=$MACHINES_DIR/roots/trixie image
	image=$(echo "$MACHINES_DIR/kernels/$2"/boot/vmlinuz-*)
	cp "$image" "$work/$2.kernel"
	mkdir -p "$root/mnt"
	timeout -k 5 "$1" unshare -mpf --mount-proc sh -ec '
		root=$1 work=$2
		shift 2
		mount --rbind /dev "$root/dev"
		mount --bind "$work" "$root/mnt"
		mount -t tmpfs tmp "$root/tmp"
		exec chroot "$root" qemu-system-x86_64 -m 3072 -smp 2 \
			-nographic -no-reboot -nic none "$@"' \
		sh "$root" "$work" -kernel "/mnt/$2.kernel" \
		-initrd "/mnt/$2.start.gz" "${@:3}" </dev/null
}

# run_virtual NAME SUITE KERNEL PROCESSOR: what the machine says on its console.
run_virtual() {
	make_root trixie # the emulator's
	make_kernel "$3"
	make_start "$3"
	if [[ $disks != *" $2 "* ]]; then
		make_disk "$2"
		disks+="$2 "
	fi
	accelerator "$3"
	qemu "$MACHINES_SECONDS" "$3" -accel "$accelerated" -cpu "$4" -snapshot \
		-drive "file=/mnt/$2.disk,format=raw,if=virtio" \
		-append "console=ttyS0 quiet panic=-1"
}
disks=" "
